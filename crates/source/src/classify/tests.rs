//! Paths as they were seen on real machines, and paths that only look like them: `paths.txt`.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

const ID: &str = "022c4ffba65e5031285fd427553e56c3fd6cc85a3a49f3fa2825d0a258d8a5d6";
const UID: &str = "1858680e-b044-4fd5-9dd4-f137e30e2180";
const HASH: &str = "99dcb84d2a34f7e338778606703258c4";

fn fill(text: &str) -> String {
    text.replace("U_I_D", &UID.replace('-', "_"))
        .replace("UID", UID)
        .replace("HASH", HASH)
        .replace("ID", ID)
}

/// The fields of an identity beside runtime and name, in the table's words.
fn known(identity: &Identity) -> String {
    let qos = identity.qos.map(|qos| format!("{qos:?}"));
    let fields = [
        ("id", &identity.container_id),
        ("pod", &identity.pod_uid),
        ("unit", &identity.unit),
        ("qos", &qos),
        ("below", &identity.below),
    ];
    let words = fields
        .iter()
        .filter_map(|(key, value)| value.as_ref().map(|value| format!("{key}={value}")));
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn every_path_of_the_table_is_what_the_table_says() {
    let rows = include_str!("paths.txt").lines().filter(|row| row.starts_with('/'));
    let mut words = BTreeSet::new();
    let mut count = 0;
    for row in rows {
        let mut columns = row.split(" | ").map(fill);
        let mut column = || columns.next().unwrap_or_default();
        let (path, word, name, fields) = (column(), column(), column(), column());
        let identity = classify(&path);
        assert_eq!(
            (identity.runtime.word(), identity.name.as_str(), known(&identity)),
            (word.as_str(), name.as_str(), fields),
            "{row}"
        );
        words.insert(word);
        count += 1;
    }
    assert!(count > 90, "{count} rows were read");
    assert_eq!(words.len(), 18, "a runtime without a row: {words:?}");
}

#[test]
fn what_cannot_be_a_row_is_a_path_too() {
    for path in ["", "a\nb\u{1b}[0m", "/a | b", "///"] {
        let identity = classify(path);
        assert_eq!((identity.runtime, identity.name.as_str()), (Runtime::Unknown, path));
    }
    // Control characters stay: whoever shows a name escapes it in its own way.
    assert_eq!(classify("/lxc.payload.a\nb").name, "lxc:a\nb");
    assert_eq!(classify(r"/system.slice/a\x0ab.service").name, "unit:a\nb.service");
    assert_eq!(classify("//docker//").runtime, Runtime::Unknown);
    assert_eq!(classify(&fill("//docker//ID/")).container_id.as_deref(), Some(ID));
}

#[test]
fn escapes_are_undone_once_and_what_is_none_stays() {
    for (escaped, expected) in [
        (r"a\x2db", "a-b"),
        (r"a\x5cx2db", r"a\x2db"),
        (r"a\x2", r"a\x2"),
        (r"a\x+1", r"a\x+1"),
        (r"a\xzz\n", r"a\xzz\n"),
        (r"\xc3\xa9", "é"),
        (r"\xff", r"\xff"),
        ("é", "é"),
    ] {
        assert_eq!(units::unescape(escaped), expected, "{escaped}");
    }
}

/// Words of real paths, joined at random: most are wrong in some interesting way.
fn odd_paths() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "docker",
        "ID",
        "docker-ID.scope",
        "libpod-",
        "kubepods",
        "burstable",
        "podUID",
        "pod",
        "kubepods-burstable-podU_I_D.slice",
        ".slice:cri-containerd:ID",
        "..",
        "ecs",
        "HASH",
        "HASH-1",
        "nomad.slice",
        "UID.x.scope",
        "UID",
        "machine.slice",
        "machine-.scope",
        "lxc",
        "lxc.payload.",
        "user@.service",
        "user.slice",
        "_.service",
        r"\x",
        "é",
        "garden",
    ]);
    prop::collection::vec((words, "[/\\-.:x]?"), 0..7).prop_map(|words| {
        let joined: String = words.iter().map(|(word, by)| format!("/{word}{by}")).collect();
        fill(&joined)
    })
}

proptest! {
    #[test]
    fn any_text_is_a_path(path in prop_oneof![any::<String>(), odd_paths()]) {
        let identity = classify(&path);
        if identity.runtime == Runtime::Unknown {
            prop_assert_eq!(&identity.name, &path);
            prop_assert_eq!(known(&identity), "");
        }
        if let Some(id) = &identity.container_id {
            prop_assert!(path.contains(id.as_str()));
        }
        if let Some(below) = &identity.below {
            let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
            prop_assert!(parts.join("/").ends_with(below.as_str()));
        }
    }
}
