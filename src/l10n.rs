//! Texts: the only place where a [`crate::core::notice::Notice`] becomes a sentence.
