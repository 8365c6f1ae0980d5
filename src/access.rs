//! Who may do what: the one place where it is checked.
