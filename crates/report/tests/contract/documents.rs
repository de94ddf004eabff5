//! Every document fits its own schema, and says why what is missing is missing.

use jsonschema::Validator;
use proptest::prelude::{prop_assert, prop_assert_eq, proptest};
use serde_json::Value;
use unthrottle_analysis::explain;
use unthrottle_analysis::rank::rank;
use unthrottle_report::{contract, json};

use crate::any_recording::{capabilities, config, recording};

fn validator(name: &str) -> Validator {
    let schemas = contract::schemas();
    let schema = schemas.iter().find(|(known, _)| *known == name).expect("a schema");
    jsonschema::validator_for(schema.1.as_value()).expect("a valid schema")
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

fn complaints(validator: &Validator, document: &Value) -> Vec<String> {
    validator.iter_errors(document).map(|e| format!("{}: {e}", e.instance_path())).collect()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn explain_fits_its_schema_for_any_recording(recording in recording()) {
        let document = parsed(&json(&contract::explain(&explain(&recording))).expect("encodes"));
        let complaints = complaints(&validator("explain"), &document);
        prop_assert!(complaints.is_empty(), "{:?}\n{:#}", complaints, document);
        let limits = document["limits"].as_array().expect("limits");
        let quotas = limits.iter().filter(|row| row["kind"] == "quota").count();
        prop_assert_eq!(quotas, recording.rows.groups.len());
    }

    #[test]
    fn top_fits_its_schema_for_any_recording(recording in recording()) {
        let ranked = rank(&recording.rows);
        let top = contract::top(&ranked, (7, 1), 2.0, &recording.meta.host, |_| None);
        let complaints = complaints(&validator("top"), &parsed(&json(&top).expect("encodes")));
        prop_assert!(complaints.is_empty(), "{:?}", complaints);
    }

    #[test]
    fn doctor_fits_its_schema_for_any_machine(machine in capabilities()) {
        let doctor = contract::doctor(&machine);
        let complaints = complaints(&validator("doctor"), &parsed(&json(&doctor).expect("encodes")));
        prop_assert!(complaints.is_empty(), "{:?}", complaints);
        for check in doctor.checks.iter().filter(|check| check.status == contract::Status::Missing) {
            prop_assert!(check.cost.is_some(), "{} is missing, and what does that cost?", check.name);
        }
    }

    /// Ratios of time and periods are shares; anything else is a mix-up of units.
    #[test]
    fn shares_lie_between_nothing_and_all(recording in recording()) {
        let document = contract::explain(&explain(&recording));
        let all = document.limits.iter().filter_map(|limit| limit.counters.as_ref());
        for counters in all.chain(document.counters.as_ref()) {
            for share in [counters.throttle_wall_ratio].into_iter().flatten() {
                prop_assert!((0.0..=1.0).contains(&share), "{}", share);
            }
            for number in [counters.usage_cores, counters.usage_ratio, counters.throttled_ms] {
                prop_assert!(number.is_none_or(|number| number.is_finite() && number >= 0.0));
            }
        }
        let waited = document.waiting.and_then(|waiting| waiting.wait_ratio);
        prop_assert!(waited.is_none_or(|share| (0.0..=1.0).contains(&share)));
        prop_assert!(document.effective.limit_cores > 0.0);
    }

    /// The same rows give the same bytes.
    #[test]
    fn the_same_recording_gives_the_same_bytes(recording in recording()) {
        let once = json(&contract::explain(&explain(&recording))).expect("encodes");
        let again = json(&contract::explain(&explain(&recording))).expect("encodes");
        prop_assert_eq!(once, again);
    }
}
