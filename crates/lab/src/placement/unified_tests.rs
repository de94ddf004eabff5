//! The v2 rules against a model of the kernel's.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;

use super::*;

/// A v2 hierarchy, as far as these rules go (cgroup-v2.rst, "No Internal Process Constraint").
#[derive(Default)]
struct Model {
    groups: RefCell<BTreeMap<PathBuf, Group>>,
    log: RefCell<Vec<String>>,
    /// Writes to files whose path ends like this are refused.
    broken: Option<(&'static str, i32)>,
    /// So many removals find the group busy, as after an exit.
    busy: Cell<u32>,
}

#[derive(Default, Clone)]
struct Group {
    real_root: bool,
    controllers: bool,
    subtree: bool,
    procs: Vec<u32>,
}

fn errno(code: i32) -> io::Error {
    io::Error::from_raw_os_error(code)
}

impl Model {
    fn with(groups: &[(&str, Group)]) -> Self {
        let groups = groups.iter().map(|(path, g)| (PathBuf::from(path), g.clone())).collect();
        Self { groups: RefCell::new(groups), ..Self::default() }
    }

    fn group(&self, path: &str) -> Group {
        self.groups.borrow()[Path::new(path)].clone()
    }

    fn names(&self) -> Vec<String> {
        self.groups.borrow().keys().map(|path| path.display().to_string()).collect()
    }

    fn split(file: &Path) -> (PathBuf, String) {
        let name = file.file_name().expect("a file").to_string_lossy().into_owned();
        (file.parent().expect("a group").to_owned(), name)
    }
}

impl Tree for Model {
    fn read(&self, file: &Path) -> io::Result<String> {
        let (dir, name) = Self::split(file);
        let groups = self.groups.borrow();
        let group = groups.get(&dir).ok_or_else(|| errno(libc::ENOENT))?;
        let cpu = |on: bool| if on { "io cpu memory\n" } else { "cpuset memory\n" }.to_owned();
        match name.as_str() {
            "cgroup.type" if group.real_root => Err(errno(libc::ENOENT)),
            "cgroup.type" => Ok("domain\n".to_owned()),
            "cgroup.controllers" => Ok(cpu(group.controllers)),
            "cgroup.subtree_control" => Ok(cpu(group.subtree)),
            "cgroup.procs" => Ok(group.procs.iter().map(|pid| format!("{pid}\n")).collect()),
            _ => Err(errno(libc::ENOENT)),
        }
    }

    fn write(&self, file: &Path, value: &str) -> io::Result<()> {
        if let Some((end, code)) = self.broken.filter(|(end, _)| file.ends_with(end)) {
            assert!(!end.is_empty());
            return Err(errno(code));
        }
        let (dir, name) = Self::split(file);
        let mut groups = self.groups.borrow_mut();
        let group = groups.get(&dir).cloned().ok_or_else(|| errno(libc::ENOENT))?;
        let has_children_using =
            groups.iter().any(|(path, g)| path.parent() == Some(&dir) && g.subtree);
        match (name.as_str(), value) {
            ("cgroup.subtree_control", "+cpu") => {
                if !group.controllers {
                    return Err(errno(libc::ENOENT));
                }
                if !group.real_root && !group.procs.is_empty() {
                    return Err(errno(libc::EBUSY));
                }
            }
            ("cgroup.subtree_control", "-cpu") if has_children_using => {
                return Err(errno(libc::EBUSY));
            }
            ("cgroup.subtree_control", "-cpu") => {}
            ("cgroup.procs", pid) => {
                if group.subtree && !group.real_root {
                    return Err(errno(libc::EBUSY));
                }
                let pid: u32 = pid.parse().map_err(|_| errno(libc::EINVAL))?;
                for group in groups.values_mut() {
                    group.procs.retain(|each| *each != pid);
                }
                groups.get_mut(&dir).expect("checked").procs.push(pid);
            }
            other => panic!("{other:?}"),
        }
        if name == "cgroup.subtree_control" {
            let on = value == "+cpu";
            groups.get_mut(&dir).expect("checked").subtree = on;
            for (path, group) in groups.iter_mut() {
                if path.parent() == Some(&dir) {
                    group.controllers = on;
                }
            }
        }
        self.log.borrow_mut().push(format!("{}={value}", file.display()));
        Ok(())
    }

    fn writable(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn make(&self, dir: &Path) -> io::Result<()> {
        let mut groups = self.groups.borrow_mut();
        let parent = groups.get(dir.parent().expect("a parent")).cloned();
        let controllers = parent.ok_or_else(|| errno(libc::ENOENT))?.subtree;
        groups.insert(dir.to_owned(), Group { controllers, ..Group::default() });
        self.log.borrow_mut().push(format!("mkdir {}", dir.display()));
        Ok(())
    }

    fn remove(&self, dir: &Path) -> io::Result<()> {
        let mut groups = self.groups.borrow_mut();
        let group = groups.get(dir).ok_or_else(|| errno(libc::ENOENT))?;
        if self.busy.replace(self.busy.get().saturating_sub(1)) > 0 {
            return Err(errno(libc::EBUSY));
        }
        if !group.procs.is_empty() || groups.keys().any(|path| path.parent() == Some(dir)) {
            return Err(errno(libc::EBUSY));
        }
        groups.remove(dir);
        self.log.borrow_mut().push(format!("rmdir {}", dir.display()));
        Ok(())
    }

    fn children(&self, dir: &Path) -> io::Result<Vec<String>> {
        let groups = self.groups.borrow();
        let below = groups.keys().filter(|path| path.parent() == Some(dir));
        Ok(below.filter_map(|p| Some(p.file_name()?.to_string_lossy().into_owned())).collect())
    }

    fn lock(&self, _: &Path) -> io::Result<Option<OwnedFd>> {
        Ok(None)
    }
}

const SCOPE: &str = "/user.scope";

fn name(n: u64) -> GroupName {
    GroupName { pid_ns: 1, pid: 10, start: 100, n, role: Role::Workload }
}

fn scope() -> Group {
    Group { controllers: true, procs: vec![10, 11], ..Group::default() }
}

fn root() -> Group {
    Group { real_root: true, controllers: true, subtree: true, ..Group::default() }
}

fn arrange(model: &Model, base: &str, n: u64) -> Result<Strategy, Unsuitable> {
    let strategy = plan(facts(model, Path::new(base))?)?;
    prepare(model, Path::new(base), strategy, name(n))?;
    Ok(strategy)
}

#[test]
fn plans() {
    let facts = |change: &dyn Fn(&mut Facts)| {
        let mut facts = Facts {
            real_root: false,
            threaded: false,
            available: true,
            enabled: false,
            occupied: true,
            denied: None,
        };
        change(&mut facts);
        plan(facts).map_err(|reason| reason.to_string())
    };
    assert_eq!(facts(&|_| ()), Ok(Strategy::StepAside));
    assert_eq!(facts(&|f| f.enabled = true), Ok(Strategy::Direct));
    assert_eq!(facts(&|f| f.occupied = false), Ok(Strategy::Enable));
    assert_eq!(facts(&|f| f.real_root = true), Ok(Strategy::Enable));
    assert_eq!(
        facts(&|f| f.available = false),
        Err("its `cgroup.controllers` has no `cpu`".to_owned())
    );
    assert_eq!(facts(&|f| f.threaded = true), Err("it is a threaded group".to_owned()));
    let denied = facts(&|f| f.denied = Some(errno(libc::EACCES)));
    assert!(denied.is_err_and(|text| text.starts_with("write its files: Permission denied")));
}

#[test]
fn a_delegated_scope_is_arranged_and_put_back() {
    let model = Model::with(&[("/", root()), (SCOPE, scope())]);
    assert_eq!(arrange(&model, SCOPE, 0).ok(), Some(Strategy::StepAside));
    let leaf = format!("{SCOPE}/unthrottle-1-10-100-0-self");
    assert_eq!(model.group(&leaf).procs, [10, 11]);
    assert_eq!(model.group(SCOPE).procs, [0; 0]);
    // A workload's group made now has the controller.
    let work = PathBuf::from(SCOPE).join(name(1).to_string());
    model.make(&work).expect("makes");
    assert!(model.group(&work.display().to_string()).controllers);

    // With the workload there nothing is undone.
    assert!(settle(&model, Path::new(SCOPE)).expect("settles").is_empty());
    model.remove(&work).expect("removes");
    assert_eq!(settle(&model, Path::new(SCOPE)).expect("settles"), [PathBuf::from(&leaf)]);
    assert_eq!(model.group(SCOPE).procs, [10, 11]);
    assert!(!model.group(SCOPE).subtree);
    assert_eq!(model.names(), ["/", SCOPE]);
    let undone = &model.log.borrow()[model.log.borrow().len() - 4..];
    assert_eq!(
        undone,
        [
            format!("{SCOPE}/cgroup.subtree_control=-cpu"),
            format!("{SCOPE}/cgroup.procs=10"),
            format!("{SCOPE}/cgroup.procs=11"),
            format!("rmdir {leaf}"),
        ]
    );
}

#[test]
fn a_second_guard_uses_the_first_ones_arrangement_and_the_last_undoes_it() {
    let model = Model::with(&[("/", root()), (SCOPE, scope())]);
    assert_eq!(arrange(&model, SCOPE, 0).ok(), Some(Strategy::StepAside));
    let [first, second] = [1, 2].map(|n| PathBuf::from(SCOPE).join(name(n).to_string()));
    model.make(&first).expect("makes");
    assert_eq!(arrange(&model, SCOPE, 3).ok(), Some(Strategy::Direct));
    model.make(&second).expect("makes");

    model.remove(&first).expect("removes");
    assert!(settle(&model, Path::new(SCOPE)).expect("settles").is_empty());
    assert!(model.group(SCOPE).subtree, "the second still needs it");
    model.remove(&second).expect("removes");
    assert_eq!(settle(&model, Path::new(SCOPE)).expect("settles").len(), 1);
    assert_eq!(model.names(), ["/", SCOPE]);
}

#[test]
fn nothing_is_touched_where_nothing_was_arranged() {
    // Enabled by somebody else, with a group of theirs in it.
    let model = Model::with(&[("/", root()), ("/unthrottle-mine", Group::default())]);
    assert_eq!(arrange(&model, "/", 0).ok(), Some(Strategy::Direct));
    let work = PathBuf::from("/").join(name(1).to_string());
    model.make(&work).expect("makes");
    model.remove(&work).expect("removes");
    assert!(settle(&model, Path::new("/")).expect("settles").is_empty());
    assert!(model.group("/").subtree);
}

#[test]
fn a_root_without_the_controller_is_put_back_too() {
    let bare = Group { subtree: false, procs: vec![1, 2], ..root() };
    let model = Model::with(&[("/", bare)]);
    assert_eq!(arrange(&model, "/", 0).ok(), Some(Strategy::Enable));
    assert!(model.group("/").subtree);
    assert_eq!(model.group("/").procs, [1, 2], "the root may hold processes");
    assert_eq!(settle(&model, Path::new("/")).expect("settles").len(), 1);
    assert!(!model.group("/").subtree);
    assert_eq!(model.names(), ["/"]);
}

#[test]
fn a_refused_step_is_undone() {
    for broken in ["cgroup.subtree_control", "unthrottle-1-10-100-0-self/cgroup.procs"] {
        let mut model = Model::with(&[("/", root()), (SCOPE, scope())]);
        model.broken = Some((broken, libc::EACCES));
        let refused = arrange(&model, SCOPE, 0);
        assert!(matches!(refused, Err(Unsuitable::Refused { .. })), "{broken}");
        assert_eq!(model.group(SCOPE).procs, [10, 11], "{broken}");
        assert!(!model.group(SCOPE).subtree, "{broken}");
        assert_eq!(model.names(), ["/", SCOPE], "{broken}");
    }
}

#[test]
fn processes_that_cannot_be_named_are_not_moved() {
    let hidden = Group { procs: vec![10, 0], ..scope() };
    let model = Model::with(&[("/", root()), (SCOPE, hidden)]);
    let why = arrange(&model, SCOPE, 0).expect_err("they stay").to_string();
    assert!(why.contains("aside: some are of another pid namespace"), "{why}");
    assert!(!model.log.borrow().iter().any(|line| line.ends_with("cgroup.procs=0")));
    assert_eq!(model.names(), ["/", SCOPE]);
}

#[test]
fn a_group_that_is_busy_for_a_moment_is_removed() {
    let model = Model { busy: Cell::new(3), ..Model::with(&[("/", root()), ("/a", scope())]) };
    model.groups.borrow_mut().get_mut(Path::new("/a")).expect("made").procs.clear();
    remove_group(&model, Path::new("/a")).expect("removes in the end");
    assert_eq!(model.names(), ["/"]);
    remove_group(&model, Path::new("/a")).expect("gone is as good as removed");
}

#[test]
fn where_to_try() {
    let place = |dir: &str, path: &str| Place {
        hierarchy: unthrottle_model::rows::Hierarchy::V2,
        cpu_dir: PathBuf::from(dir),
        path: path.to_owned(),
        cpuacct_dir: None,
        mount_dir: PathBuf::from("/sys/fs/cgroup"),
        mount_path: "/".to_owned(),
    };
    let show = |place: Place| -> Vec<(String, String)> {
        candidates(&place).into_iter().map(|c| (c.dir.display().to_string(), c.path)).collect()
    };
    let pair = |dir: &str, path: &str| (dir.to_owned(), path.to_owned());
    let root = pair("/sys/fs/cgroup", "/");
    assert_eq!(show(place("/sys/fs/cgroup", "/")), std::slice::from_ref(&root));
    assert_eq!(
        show(place("/sys/fs/cgroup/a/b", "/a/b")),
        [pair("/sys/fs/cgroup/a/b", "/a/b"), root.clone()]
    );
    // Stepped aside before: it is where it came from.
    let leaf = "unthrottle-1-10-100-0-self";
    let aside = place(&format!("/sys/fs/cgroup/a/{leaf}"), &format!("/a/{leaf}"));
    assert_eq!(show(aside), [pair("/sys/fs/cgroup/a", "/a"), root.clone()]);
    let aside = place(&format!("/sys/fs/cgroup/{leaf}"), &format!("/{leaf}"));
    assert_eq!(show(aside), [root]);
}
