//! Files that people and agents give each other, as events and messages name them. Their bytes are kept elsewhere.
//!
//! Names and media types that somebody states are hostile: a name is reduced to letters, digits and a few signs, and the
//! kind is read from the bytes.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

use crate::id::WorkId;

/// Maximum number of files of one message.
pub const FILES_MAX: usize = 10;

/// Maximum length of a file's name, in bytes, with its extension.
pub const FILE_NAME_MAX: usize = 80;

/// Maximum length of an extension that a shortened name keeps, in bytes.
const EXTENSION_MAX: usize = 12;

/// Name of the folder for received files, below the agent's own folder in its workspace.
pub const INBOX: &str = "inbox";

/// SHA-256 of a file, written as 64 hexadecimal digits. It names the file where its bytes are kept.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct Sha256(pub [u8; 32]);

/// The error for a text that is no SHA-256.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it is no SHA-256 in 64 hexadecimal digits")]
pub struct NoSha256;

impl TryFrom<String> for Sha256 {
    type Error = NoSha256;

    fn try_from(text: String) -> Result<Self, NoSha256> {
        text.parse()
    }
}

impl std::str::FromStr for Sha256 {
    type Err = NoSha256;

    fn from_str(text: &str) -> Result<Self, NoSha256> {
        let digit = |c: u8| match c {
            b'0'..=b'9' => Ok(c - b'0'),
            b'a'..=b'f' => Ok(c - b'a' + 10),
            _ => Err(NoSha256),
        };
        let mut bytes = [0; 32];
        if text.len() != 2 * bytes.len() {
            return Err(NoSha256);
        }
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Ok(Self(bytes))
    }
}

impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Sha256 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Kind of a file, by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileKind {
    /// The file is a PNG picture.
    Png,
    /// The file is a JPEG picture.
    Jpeg,
    /// The file is a GIF picture.
    Gif,
    /// The file is a WebP picture.
    Webp,
    /// The file is text in UTF-8.
    Text,
    /// The file is anything else.
    #[default]
    #[serde(other)]
    Other,
}

impl FileKind {
    /// Returns the kind of a file with these bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        match bytes {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Self::Png,
            [0xff, 0xd8, 0xff, ..] => Self::Jpeg,
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Self::Gif,
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Self::Webp,
            _ if !bytes.contains(&0) && std::str::from_utf8(bytes).is_ok() => Self::Text,
            _ => Self::Other,
        }
    }

    /// Returns true for pictures that models take.
    #[must_use]
    pub const fn is_picture(self) -> bool {
        match self {
            Self::Png | Self::Jpeg | Self::Gif | Self::Webp => true,
            Self::Text | Self::Other => false,
        }
    }

    /// Returns the media type.
    #[must_use]
    pub const fn media(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
            Self::Text => "text/plain; charset=utf-8",
            Self::Other => "application/octet-stream",
        }
    }
}

/// A file whose bytes herder keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptFile {
    /// Name of the file, reduced by [`file_name`].
    pub name: String,
    /// Length of the file, in bytes.
    pub size: u64,
    /// Digest of the bytes.
    pub sha256: Sha256,
    /// Kind of the file.
    #[serde(default)]
    pub kind: FileKind,
}

impl KeptFile {
    /// Returns the file's name in an agent's inbox: it is told apart by the work and the position in it.
    #[must_use]
    pub fn inbox_name(&self, work: WorkId, index: usize) -> String {
        format!("{work}-{}-{}", index + 1, file_name(&self.name))
    }
}

/// Returns a file name of letters, digits and `._-`, at most [`FILE_NAME_MAX`] bytes long, whatever `stated` is. It begins
/// with neither a dot nor a hyphen, and keeps a short extension.
#[must_use]
pub fn file_name(stated: &str) -> String {
    let last = stated.rsplit(['/', '\\']).find(|part| !part.trim().is_empty()).unwrap_or_default();
    let sign = |c: char| if c.is_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '_' };
    let name: String = last.trim().chars().map(sign).collect();
    let name = name.trim_start_matches(['.', '-']).trim_end_matches('.');
    if name.is_empty() {
        return "file".to_owned();
    }
    if name.len() <= FILE_NAME_MAX {
        return name.to_owned();
    }
    let (stem, extension) = match name.rsplit_once('.') {
        Some((stem, extension)) if extension.len() <= EXTENSION_MAX => (stem, format!(".{extension}")),
        Some(_) | None => (name, String::new()),
    };
    let most = FILE_NAME_MAX - extension.len();
    let end = (0..=most.min(stem.len())).rev().find(|end| stem.is_char_boundary(*end)).unwrap_or_default();
    format!("{}{extension}", &stem[..end])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_digest_is_64_digits_and_nothing_else() {
        let digits = "00ff".repeat(16);
        let read: Sha256 = digits.parse().expect("a digest");
        assert_eq!(read.to_string(), digits);
        assert_eq!(serde_json::to_string(&read).expect("JSON"), format!("\"{digits}\""));
        for wrong in ["", "../../etc/passwd", &digits[..63], &digits.to_uppercase(), &format!("{digits}0")] {
            assert_eq!(wrong.parse::<Sha256>(), Err(NoSha256), "{wrong}");
        }
    }

    #[test]
    fn the_kind_is_read_from_the_bytes() {
        for (bytes, kind) in [
            (&b"\x89PNG\r\n\x1a\n\0\0"[..], FileKind::Png),
            (b"\xff\xd8\xff\xe0\0", FileKind::Jpeg),
            (b"GIF89a\x01", FileKind::Gif),
            (b"GIF87a", FileKind::Gif),
            (b"RIFF\x04\0\0\0WEBPVP8 ", FileKind::Webp),
            (b"RIFF\x04\0\0\0WAVE", FileKind::Other),
            (b"<svg onload=alert(1)>", FileKind::Text),
            ("grüße\n".as_bytes(), FileKind::Text),
            (b"", FileKind::Text),
            (b"\x7fELF\x02\x01\x01\0", FileKind::Other),
            (b"a\0b", FileKind::Other),
            (b"PNG", FileKind::Text),
        ] {
            assert_eq!(FileKind::of(bytes), kind, "{bytes:?}");
        }
        let later: FileKind = serde_json::from_str("\"avif\"").expect("a kind of a later version");
        assert_eq!(later, FileKind::Other);
    }

    #[test]
    fn a_name_cannot_lead_anywhere() {
        for (stated, name) in [
            ("log.txt", "log.txt"),
            ("Bericht März.pdf", "Bericht_März.pdf"),
            ("../../etc/passwd", "passwd"),
            ("C:\\Users\\x\\cat.png", "cat.png"),
            ("..", "file"),
            ("", "file"),
            ("/", "file"),
            (".bashrc", "bashrc"),
            ("-rf", "rf"),
            ("a\nb\u{0}c.txt", "a_b_c.txt"),
            // The order of a right-to-left override hides an extension.
            ("cat\u{202e}gnp.exe", "cat_gnp.exe"),
            ("a;rm -rf $HOME`x`.sh", "a_rm_-rf__HOME_x_.sh"),
        ] {
            assert_eq!(file_name(stated), name, "{stated:?}");
        }
        assert_eq!(file_name(&format!("{}.png", "ä".repeat(500))), format!("{}.png", "ä".repeat(38)));
    }

    proptest! {
        #[test]
        fn any_name_becomes_one_of_letters_and_short(stated in any::<String>()) {
            let name = file_name(&stated);
            prop_assert!((1..=FILE_NAME_MAX).contains(&name.len()));
            prop_assert!(name.chars().all(|c| c.is_alphanumeric() || "._-".contains(c)));
            prop_assert!(!name.starts_with(['.', '-']));
            prop_assert_eq!(file_name(&name), name);
        }
    }
}
