//! Reading and describing, over small request types.

use super::*;
use base::owner::UserId;
use serde_json::json;

#[derive(Debug, PartialEq)]
struct Sample {
    user: UserId,
    count: Option<i64>,
    share: f64,
    rate: Option<f64>,
    items: Vec<Item>,
    at: Option<i64>,
}
#[derive(Debug, PartialEq)]
struct Item {
    flag: bool,
}
impl Read for Item {
    fn read(f: &mut Fields<'_>) -> Self {
        Item { flag: f.flag("flag") }
    }
}
impl Read for Sample {
    fn read(f: &mut Fields<'_>) -> Self {
        Sample {
            user: f.id("user"),
            count: f.integer("count", 1..=10),
            share: f.number_between_or("share", 0.0, 1.0, 0.5),
            rate: f.number_within("rate", 0.0..=1.0),
            items: f.about("In order.").list("items", 2),
            at: f.time("at"),
        }
    }
}

crate::request_body!(Item, "Item");
crate::request_body!(Sample, "Sample");

#[test]
fn the_specification_says_what_the_reader_enforces() {
    let schema = serde_json::to_value(<Sample as utoipa::PartialSchema>::schema()).unwrap();
    assert_eq!(schema["required"], json!(["user"]));
    let property = |name: &str| schema["properties"][name].clone();
    assert_eq!(property("user"), json!({"type": "string", "minLength": 1, "maxLength": 255}));
    let count =
        json!({"type": ["integer", "null"], "format": "int64", "minimum": 1, "maximum": 10});
    assert_eq!(property("count"), count);
    let share = json!({"type": ["number", "null"], "default": 0.5, "exclusiveMinimum": 0,
        "exclusiveMaximum": 1});
    assert_eq!(property("share"), share);
    let rate = json!({"type": ["number", "null"], "minimum": 0, "maximum": 1});
    assert_eq!(property("rate"), rate);
    let items = json!({"type": ["array", "null"], "description": "In order.", "maxItems": 2,
        "items": {"$ref": "#/components/schemas/Item"}});
    assert_eq!(property("items"), items);
    let mut components = Vec::new();
    <Sample as utoipa::ToSchema>::schemas(&mut components);
    let names: Vec<&str> = components.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["Item"]);
}

fn codes(body: &Value) -> Vec<(String, String)> {
    match read_body::<Sample>(body) {
        Ok(_) => Vec::new(),
        Err(problems) => problems.into_parts().0.into_iter().map(|p| (p.pointer, p.code)).collect(),
    }
}

#[test]
fn all_problems_come_at_once_with_their_place() {
    let body = json!({"user": 3, "count": 11, "share": 1, "rate": 1.5, "items": [{"flag": "x"}, 7], "at": "noon"});
    let expected = [
        ("/user", "wrong_type"),
        ("/count", "out_of_range"),
        ("/share", "out_of_range"),
        ("/rate", "out_of_range"),
        ("/items/0/flag", "wrong_type"),
        ("/items/1", "wrong_type"),
        ("/at", "not_a_time"),
    ];
    let expected: Vec<_> =
        expected.iter().map(|(p, c)| ((*p).to_owned(), (*c).to_owned())).collect();
    assert_eq!(codes(&body), expected);
}

#[test]
fn null_is_absent_ids_are_trimmed_and_unknown_fields_are_listed() {
    let body = json!({"user": "  ada ", "count": null, "colour": 1, "items": [{"a/b": 2}]});
    let outcome = read_body::<Sample>(&body).unwrap();
    assert_eq!(outcome.value.user, "ada");
    assert_eq!(outcome.value.count, None);
    assert_eq!(outcome.unknown, ["/items/0/a~1b", "/colour"]);
    assert_eq!(codes(&json!({})), [("/user".to_owned(), "required".to_owned())]);
    assert_eq!(codes(&json!({"user": " "})), [("/user".to_owned(), "empty".to_owned())]);
    assert_eq!(codes(&json!([])), [(String::new(), "wrong_type".to_owned())]);
}

base::vocabulary! {
    pub enum Light {
        Red = "red",
        Dark = "dark",
    }
}

base::vocabulary! {
    enum Colour {
        Red = "red",
        Blue = "blue",
        None = "",
    }
}

struct Bounded {
    price: Option<f64>,
    named: String,
    wanted: bool,
    colour: Option<Colour>,
    texts: Vec<String>,
}

impl Read for Bounded {
    fn read(f: &mut Fields<'_>) -> Self {
        Bounded {
            price: f.number_from("price", 0.0),
            named: f.id_or("named", "plain"),
            wanted: f.flag_or("wanted", true),
            colour: f.word_among("colour", &[Colour::Red, Colour::Blue]),
            texts: f.required_texts("texts"),
        }
    }
}

crate::request_body!(Bounded, "Bounded");

#[test]
fn bounds_and_defaults_are_enforced_and_described() {
    let schema = serde_json::to_value(<Bounded as utoipa::PartialSchema>::schema()).unwrap();
    assert_eq!(schema["required"], json!(["texts"]));
    let property = |name: &str| schema["properties"][name].clone();
    assert_eq!(property("price"), json!({"type": ["number", "null"], "minimum": 0}));
    assert_eq!(property("named")["default"], "plain");
    assert_eq!(property("wanted")["default"], true);
    assert_eq!(property("colour")["enum"], json!(["red", "blue", null]));
    assert_eq!(property("texts")["minItems"], 1);
    let absent = read_body::<Bounded>(&json!({"texts": [""]})).unwrap().value;
    assert_eq!((absent.price, absent.named.as_str(), absent.wanted), (None, "plain", true));
    assert_eq!((absent.colour, absent.texts), (None, vec![String::new()]));
    let pointers = |body: Value| -> Vec<String> {
        let problems = read_body::<Bounded>(&body).err().unwrap_or_default();
        problems.into_parts().0.into_iter().map(|p| format!("{} {}", p.pointer, p.code)).collect()
    };
    let bad = json!({"price": -1, "colour": "", "texts": []});
    let expected = ["/price out_of_range", "/colour not_allowed", "/texts too_short"];
    assert_eq!(pointers(bad), expected);
    assert_eq!(pointers(json!({"texts": [3]})), ["/texts/0 wrong_type"]);
    assert_eq!(pointers(json!({})), ["/texts required"]);
}

struct Lists {
    words: Option<Vec<&'static str>>,
    numbers: Vec<i64>,
    lights: Option<Vec<Light>>,
}
impl Read for Lists {
    fn read(f: &mut Fields<'_>) -> Self {
        Lists {
            words: f.choices("words", &["red", "blue"]),
            numbers: f.required_numbers("numbers", 3),
            lights: f.words_or_null("lights", Light::Dark),
        }
    }
}

crate::request_body!(Lists, "Lists");

#[test]
fn null_in_a_list_of_words_stands_for_one_of_them() {
    let read = |body: Value| match read_body::<Lists>(&body) {
        Ok(outcome) => Ok(outcome.value.lights),
        Err(problems) => {
            Err(problems.into_parts().0.into_iter().map(|p| p.pointer).collect::<Vec<_>>())
        }
    };
    let lights = read(json!({"numbers": [1], "lights": ["red", null]}));
    assert_eq!(lights, Ok(Some(vec![Light::Red, Light::Dark])));
    let bad = read(json!({"numbers": [1], "lights": ["red", "blue", 7]}));
    assert_eq!(bad, Err(vec!["/lights/1".to_owned(), "/lights/2".to_owned()]));
    let schema = serde_json::to_value(<Lists as utoipa::PartialSchema>::schema()).unwrap();
    let item = json!({"oneOf": [{"$ref": "#/components/schemas/Light"}, {"type": "null"}]});
    assert_eq!(schema["properties"]["lights"]["items"], item);
}

#[test]
fn lists_of_plain_values_name_each_bad_item() {
    let read = |body: Value| match read_body::<Lists>(&body) {
        Ok(outcome) => Ok((outcome.value.words, outcome.value.numbers)),
        Err(problems) => {
            Err(problems.into_parts().0.into_iter().map(|p| p.pointer).collect::<Vec<_>>())
        }
    };
    let list = read(json!({"words": ["red", "blue"], "numbers": [1, 2]}));
    assert_eq!(list, Ok((Some(vec!["red", "blue"]), vec![1, 2])));
    assert_eq!(read(json!({"words": "red", "numbers": [1]})), Ok((Some(vec!["red"]), vec![1])));
    assert_eq!(read(json!({"words": null, "numbers": [1]})), Ok((None, vec![1])));
    let bad = read(json!({"words": ["red", "green", 3], "numbers": [1, 0, "2"]}));
    let pointers = ["/words/1", "/words/2", "/numbers/1", "/numbers/2"];
    assert_eq!(bad, Err(pointers.map(str::to_owned).to_vec()));
    for missing in [json!({}), json!({"numbers": []}), json!({"numbers": [1, 2, 3, 4]})] {
        assert_eq!(read(missing), Err(vec!["/numbers".to_owned()]));
    }
}

#[test]
fn nul_is_found_at_any_depth() {
    let body = json!({"user": "a", "extra": {"deep": [["x\0"]], "k\0": 1}});
    let found: Vec<_> = codes(&body).into_iter().map(|(pointer, _)| pointer).collect();
    assert_eq!(found, ["/extra/deep/0/0", "/extra/k\u{fffd}"]);
}

#[test]
fn times_in_both_forms() {
    for (text, seconds) in [
        (json!("1970-01-02T00:00:00Z"), Some(86400)),
        (json!("1970-01-02T00:00:00"), Some(86400)),
        (json!("1970-01-02 01:00:00+01:00"), Some(86400)),
        (json!(86400), Some(86400)),
        (json!("86400"), None),
        (json!(1.5), Some(1)),
        (json!(86_400_000_000_000_i64), None),
    ] {
        let body = json!({"user": "a", "at": text});
        let at = read_body::<Sample>(&body).ok().and_then(|o| o.value.at);
        assert_eq!(at, seconds, "{text}");
    }
}

#[test]
fn numbers_beyond_64_bits_are_refused() {
    let body: Value = serde_json::from_str(r#"{"user":"a","count":99999999999999999999}"#).unwrap();
    assert_eq!(codes(&body), [("/count".to_owned(), "wrong_type".to_owned())]);
}
