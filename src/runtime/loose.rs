//! Tolerant parsing of JSON from other programs: a field of another type than expected is lost, not the whole line.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// A JSON value that is a string, number or boolean. Any other value, or none, is accepted as [`Scalar::Nothing`].
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Scalar<'a> {
    /// The value is a string.
    Text(Cow<'a, str>),
    /// The value is a whole number.
    Integer(i64),
    /// The value is a number that is not whole.
    Number(f64),
    /// The value is true or false.
    Bool(bool),
    /// Null, a list or an object, or the field is absent.
    #[default]
    Nothing,
}

impl Scalar<'_> {
    /// Returns the string; `None` if the value is none.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Integer(_) | Self::Number(_) | Self::Bool(_) | Self::Nothing => None,
        }
    }

    /// Returns the string; an empty one if the value is none.
    #[must_use]
    pub fn text_or_empty(&self) -> &str {
        self.text().unwrap_or_default()
    }

    /// Returns the number, rounded towards zero; `None` if the value is none.
    #[must_use]
    pub fn integer(&self) -> Option<i64> {
        match self {
            Self::Integer(number) => Some(*number),
            #[expect(
                clippy::cast_possible_truncation,
                reason = "saturates, which is what a silly number deserves"
            )]
            Self::Number(number) => Some(*number as i64),
            Self::Text(_) | Self::Bool(_) | Self::Nothing => None,
        }
    }

    /// Returns the number as a count; 0 if the value is no number.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.integer().and_then(|number| u64::try_from(number).ok()).unwrap_or(0)
    }

    /// Returns the number; `None` if the value is no finite number.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match self {
            #[expect(
                clippy::cast_precision_loss,
                reason = "an amount of dollars is far below where it matters"
            )]
            Self::Integer(number) => Some(*number as f64),
            Self::Number(number) => Some(*number).filter(|number| number.is_finite()),
            Self::Text(_) | Self::Bool(_) | Self::Nothing => None,
        }
    }

    /// Returns true if the value is `true`.
    #[must_use]
    pub fn is_true(&self) -> bool {
        *self == Self::Bool(true)
    }
}

struct ScalarVisitor;

impl<'de> Visitor<'de> for ScalarVisitor {
    type Value = Scalar<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }
    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Text(Cow::Borrowed(text)))
    }
    fn visit_str<E>(self, text: &str) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Text(Cow::Owned(text.to_owned())))
    }
    fn visit_bool<E>(self, value: bool) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Bool(value))
    }
    fn visit_i64<E>(self, number: i64) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Integer(number))
    }
    fn visit_u64<E>(self, number: u64) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Integer(i64::try_from(number).unwrap_or(i64::MAX)))
    }
    fn visit_f64<E>(self, number: f64) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Number(number))
    }
    fn visit_unit<E>(self) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Nothing)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Scalar<'de>, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Scalar::Nothing)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Scalar<'de>, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Scalar::Nothing)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Scalar<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarVisitor)
    }
}

/// A JSON object; any other value is accepted as `None`.
#[derive(Debug, Clone)]
pub struct Loose<T>(pub Option<T>);

impl<T> Default for Loose<T> {
    fn default() -> Self {
        Self(None)
    }
}

struct LooseVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for LooseVisitor<T> {
    type Value = Loose<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }
    fn visit_str<E>(self, _: &str) -> Result<Loose<T>, E> {
        Ok(Loose(None))
    }
    fn visit_bool<E>(self, _: bool) -> Result<Loose<T>, E> {
        Ok(Loose(None))
    }
    fn visit_i64<E>(self, _: i64) -> Result<Loose<T>, E> {
        Ok(Loose(None))
    }
    fn visit_u64<E>(self, _: u64) -> Result<Loose<T>, E> {
        Ok(Loose(None))
    }
    fn visit_f64<E>(self, _: f64) -> Result<Loose<T>, E> {
        Ok(Loose(None))
    }
    fn visit_unit<E>(self) -> Result<Loose<T>, E> {
        Ok(Loose(None))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Loose<T>, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Loose(None))
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Loose<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(|object| Loose(Some(object)))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Loose<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LooseVisitor(PhantomData))
    }
}

/// The objects in a JSON list. Elements that are no objects are left out, and any other value is accepted as an empty
/// list.
#[derive(Debug, Clone)]
pub struct Many<T>(pub Vec<T>);

impl<T> Default for Many<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

struct ManyVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ManyVisitor<T> {
    type Value = Many<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }
    fn visit_str<E>(self, _: &str) -> Result<Many<T>, E> {
        Ok(Many(Vec::new()))
    }
    fn visit_bool<E>(self, _: bool) -> Result<Many<T>, E> {
        Ok(Many(Vec::new()))
    }
    fn visit_i64<E>(self, _: i64) -> Result<Many<T>, E> {
        Ok(Many(Vec::new()))
    }
    fn visit_u64<E>(self, _: u64) -> Result<Many<T>, E> {
        Ok(Many(Vec::new()))
    }
    fn visit_f64<E>(self, _: f64) -> Result<Many<T>, E> {
        Ok(Many(Vec::new()))
    }
    fn visit_unit<E>(self) -> Result<Many<T>, E> {
        Ok(Many(Vec::new()))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Many<T>, A::Error> {
        let mut objects = Vec::new();
        while let Some(element) = list.next_element::<Loose<T>>()? {
            objects.extend(element.0);
        }
        Ok(Many(objects))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Many<T>, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Many(Vec::new()))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Many<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ManyVisitor(PhantomData))
    }
}

/// The objects in a JSON list, or a single object without a list, as some programs write it.
#[derive(Debug, Clone)]
pub struct Few<T>(pub Vec<T>);

impl<T> Default for Few<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

struct FewVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for FewVisitor<T> {
    type Value = Few<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }
    fn visit_str<E>(self, _: &str) -> Result<Few<T>, E> {
        Ok(Few(Vec::new()))
    }
    fn visit_bool<E>(self, _: bool) -> Result<Few<T>, E> {
        Ok(Few(Vec::new()))
    }
    fn visit_i64<E>(self, _: i64) -> Result<Few<T>, E> {
        Ok(Few(Vec::new()))
    }
    fn visit_u64<E>(self, _: u64) -> Result<Few<T>, E> {
        Ok(Few(Vec::new()))
    }
    fn visit_f64<E>(self, _: f64) -> Result<Few<T>, E> {
        Ok(Few(Vec::new()))
    }
    fn visit_unit<E>(self) -> Result<Few<T>, E> {
        Ok(Few(Vec::new()))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Few<T>, A::Error> {
        ManyVisitor(PhantomData).visit_seq(list).map(|Many(objects)| Few(objects))
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Few<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(|object| Few(vec![object]))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Few<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FewVisitor(PhantomData))
    }
}

/// A JSON value of any shape, kept as text and only parsed when needed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Raw<'a>(Option<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Raw<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Option::<&'a RawValue>::deserialize(deserializer).map(Self)
    }
}

impl Raw<'_> {
    /// Returns the JSON text; empty if the value is null or absent.
    #[must_use]
    pub fn json(&self) -> &str {
        self.0.map(RawValue::get).unwrap_or_default()
    }

    /// Returns the first of these members of the object that is a string, or a list of strings, which are then joined;
    /// `None` if there is none.
    #[must_use]
    pub fn member(&self, names: &[&str]) -> Option<String> {
        let object: BTreeMap<Cow<'_, str>, &RawValue> = serde_json::from_str(self.0?.get()).ok()?;
        names.iter().find_map(|name| words(object.get(*name)?))
    }

    /// Returns the string as a list of one, or the strings of a list.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        match self.0.and_then(value) {
            Some(Value::String(text)) => vec![text],
            Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => Vec::new(),
        }
    }

    /// Returns the texts in the value: the string itself, or the members called `text`, up to a bounded depth.
    #[must_use]
    pub fn texts(&self) -> String {
        let mut texts = Vec::new();
        if let Some(value) = self.0.and_then(value) {
            gather(&value, &mut texts, TEXTS_DEPTH);
        }
        texts.join("\n")
    }
}

/// Maximum depth at which texts in a tool's output are searched for, with a reserve.
const TEXTS_DEPTH: u8 = 6;

fn value(raw: &RawValue) -> Option<Value> {
    let read = serde_json::from_str(raw.get()).ok();
    read.or_else(|| serde_json::from_slice(&mended(raw.get().as_bytes())?).ok())
}

fn words(raw: &RawValue) -> Option<String> {
    match value(raw)? {
        Value::String(text) => Some(text),
        Value::Array(list) => {
            let words: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
            (!words.is_empty()).then(|| words.join(" "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

fn gather(value: &Value, texts: &mut Vec<String>, depth: u8) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(list) if depth > 0 => list.iter().for_each(|value| {
            if !value.is_string() {
                gather(value, texts, depth - 1);
            }
        }),
        Value::Object(object) if depth > 0 => {
            for (name, value) in object {
                if value.is_array() || value.is_object() || name == "text" {
                    gather(value, texts, depth - 1);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {}
    }
}

/// Replaces unpaired surrogates in a JSON text by U+FFFD; `None` if there are none. Programs in JavaScript write one
/// where they cut a text inside a character, and strict parsers reject the whole text for it.
#[must_use]
pub fn mended(json: &[u8]) -> Option<Vec<u8>> {
    let mut mended = None;
    let mut at = 0;
    while let Some(next) = json.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == b'\\')) {
        at += next;
        at += match (unit(json, at), unit(json, at + ESCAPE)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 2 * ESCAPE,
            (Some(0xD800..=0xDFFF), _) => {
                mended.get_or_insert_with(|| json.to_vec())[at..at + ESCAPE].copy_from_slice(b"\\ufffd");
                ESCAPE
            }
            (Some(_), _) => ESCAPE,
            // Another escape, of two bytes.
            (None, _) => 2,
        };
    }
    mended
}

/// Length of the escape `\u0000`, in bytes.
const ESCAPE: usize = 6;

/// Returns the number of the escape `\uXXXX` at position `at`; `None` if there is none.
fn unit(json: &[u8], at: usize) -> Option<u16> {
    let digits = json.get(at..at + ESCAPE)?.strip_prefix(b"\\u")?;
    u16::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()
}

/// Parses a line that has to be a JSON object.
///
/// # Errors
/// The line is not a JSON object.
pub fn object<'de, T: Deserialize<'de>>(line: &'de [u8]) -> Result<T, serde_json::Error> {
    let object: Loose<T> = serde_json::from_slice(line)?;
    object.0.ok_or_else(|| serde::de::Error::custom("no object"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, Deserialize)]
    #[serde(default)]
    struct Line<'a> {
        #[serde(borrow)]
        word: Scalar<'a>,
        #[serde(borrow)]
        inner: Loose<Box<Line<'a>>>,
        #[serde(borrow)]
        list: Many<Line<'a>>,
        #[serde(borrow)]
        few: Few<Line<'a>>,
    }

    #[test]
    fn a_field_of_another_type_costs_itself_alone() {
        for odd in ["null", "1", "-1.5", "true", r#""text""#, "[1,{}]", r#"{"a":[{}]}"#] {
            let text = format!(r#"{{"word":"kept","inner":{odd},"list":{odd},"few":{odd}}}"#);
            let line: Line<'_> = serde_json::from_str(&text).expect(odd);
            assert_eq!(line.word.text(), Some("kept"), "{odd}");
            assert!(line.list.0.iter().chain(&line.few.0).all(|line| line.word.text().is_none()), "{odd}");
            for few in [r#"{"word":"one"}"#.to_owned(), format!(r#"[{odd},{{"word":"one"}}]"#)] {
                let text = format!(r#"{{"few":{few}}}"#);
                let line: Line<'_> = serde_json::from_str(&text).expect(odd);
                assert_eq!(line.few.0.last().and_then(|line| line.word.text()), Some("one"), "{odd}");
            }
            let text = format!(r#"{{"word":{odd},"inner":{{"word":"in"}},"list":[{odd},{{"word":"li"}}]}}"#);
            let line: Line<'_> = serde_json::from_str(&text).expect(odd);
            assert_eq!(line.inner.0.expect("it is an object").word.text(), Some("in"), "{odd}");
            assert_eq!(line.list.0.last().and_then(|line| line.word.text()), Some("li"), "{odd}");
        }
    }

    #[test]
    fn half_a_character_is_mended_and_nothing_else() {
        for (json, expected) in [
            (r#"{"word":"so \ud83d"}"#, Some("so \u{fffd}")),
            (r#"{"word":"\uDE00 so"}"#, Some("\u{fffd} so")),
            (r#"{"word":"\ud83d\ud83d\ude00"}"#, Some("\u{fffd}😀")),
            (r#"{"word":"\ud83d\n\ud83dx"}"#, Some("\u{fffd}\n\u{fffd}x")),
            (r#"{"word":"\ud83d\ude00\u0041"}"#, None),
            (r#"{"word":"\\ud83d"}"#, None),
            (r#"{"word":"\ud8"#, None),
            (r#"{"word":"\"#, None),
        ] {
            let mended = mended(json.as_bytes());
            let word = mended.as_deref().map(|json| {
                let line: Line<'_> = object(json).expect("it is whole");
                line.word.text().map(str::to_owned)
            });
            assert_eq!(word.flatten().as_deref(), expected, "{json}");
        }
    }

    #[test]
    fn a_raw_value_is_taken_apart_when_it_is_asked() {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Call<'a> {
            #[serde(borrow)]
            input: Raw<'a>,
        }
        let of = |json: &'static str| serde_json::from_str::<Call<'_>>(json).expect(json).input;
        let call = of(r#"{"input":{"n":1,"command":["git","status"],"file_path":"a\u0062c"}}"#);
        assert_eq!(call.member(&["cmd", "command"]).as_deref(), Some("git status"));
        assert_eq!(call.member(&["n", "file_path"]).as_deref(), Some("abc"), "a number is no text");
        assert_eq!(call.member(&["nothing"]), None);
        let answer =
            of(r#"{"input":[{"type":"text","text":"one"},{"type":"content","content":{"text":"two"}}]}"#);
        assert_eq!(answer.texts(), "one\ntwo");
        assert_eq!(of(r#"{"input":[1,"x",null,["y"]]}"#).words(), ["x"]);
        assert_eq!(of(r#"{"input":"plain"}"#).words(), ["plain"]);
        for odd in [r#"{"input":null}"#, "{}", r#"{"input":7}"#, r#"{"input":[1,"x",null]}"#] {
            assert_eq!((of(odd).texts().as_str(), of(odd).member(&["text"])), ("", None), "{odd}");
        }
        assert_eq!(of(r#"{"input":"plain"}"#).texts(), "plain");
        let half = of(r#"{"input":{"command":"git push \ud83d","more":[{"text":"\ud83d"}]}}"#);
        assert_eq!(half.member(&["command"]).as_deref(), Some("git push \u{fffd}"));
        assert_eq!(half.texts(), "\u{fffd}");
    }
}
