//! What people can ask of herder: one file per command, the list, and the parsing of text forms.
