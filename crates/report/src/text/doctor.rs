//! `doctor` as text.

use super::parts::paragraph;
use crate::contract::{Doctor, Status};

/// Renders the document.
#[must_use]
pub fn doctor(d: &Doctor) -> String {
    let or = |value: Option<String>| value.unwrap_or_else(|| "unknown".to_owned());
    let mut text = paragraph(
        "",
        &format!(
            "kernel {}, HZ {}, {} CPUs online, {} allowed, slice {} us",
            d.kernel,
            or(d.hz.map(|hz| hz.to_string())),
            d.cpus_online,
            or(d.cpus_allowed.map(|cpus| cpus.to_string())),
            or(d.slice_us.map(|slice| slice.to_string())),
        ),
    );
    text += "\ncgroup mounts\n";
    for mount in &d.mounts {
        let here = match (&d.hierarchy, mount.version.as_str()) {
            (Some(h), "v2") if h == "v2" => "  <- cpu controller",
            (Some(h), "v1") if h == "v1:cpu" && mount.controllers.iter().any(|c| c == "cpu") => {
                "  <- cpu controller"
            }
            _ => "",
        };
        let root =
            if mount.root == "/" { String::new() } else { format!(" (shows {})", mount.root) };
        let controllers = mount.controllers.join(",");
        text += &paragraph(
            &format!("  {}  ", mount.version),
            &format!("{:<34} {controllers}{root}{here}", mount.point),
        );
    }
    if d.mounts.is_empty() {
        text += "  none\n";
    }
    if let (Some(all), Some(limited)) = (d.groups_count, d.limited_groups_count) {
        text += &format!("  {all} groups visible, {limited} with a CPU limit\n");
    }
    text += &paragraph("  this process is in ", &or(d.own_group.clone()));
    text += "\nruntimes\n";
    for runtime in &d.runtimes {
        text += &paragraph("  ", &format!("{:<12} {}", runtime.name, runtime.path));
    }
    if d.runtimes.is_empty() {
        text += "  none found\n";
    }
    text += "\nabilities\n";
    for check in &d.checks {
        let mark = match check.status {
            Status::Ok => "ok     ",
            Status::Missing => "missing",
            Status::Unknown => "unknown",
        };
        text += &paragraph(&format!("  {mark}  {:<22} ", check.name), &check.detail);
        if let Some(cost) = &check.cost {
            text += &paragraph("             costs: ", cost);
        }
        if let Some(hint) = &check.hint {
            text += &paragraph("             get it: ", hint);
        }
    }
    text
}
