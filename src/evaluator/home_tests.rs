use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

use super::*;

const FIRST: &str = "{\"tokens\":1}";

/// A user's login, and the folder of the homes beside it.
struct User {
    folder: TempDir,
}

impl User {
    fn new() -> Self {
        let user = Self { folder: tempfile::tempdir().expect("a temporary folder") };
        fs::create_dir(user.folder.path().join("own")).expect("it is made");
        fs::write(user.login(), FIRST).expect("the login is written");
        user
    }

    fn login(&self) -> PathBuf {
        self.folder.path().join("own/auth.json")
    }

    fn homes(&self) -> PathBuf {
        self.folder.path().join("homes")
    }

    fn home(&self) -> (Home, PathBuf) {
        let mut home = Home::new(&self.homes()).expect("a home is made");
        let link = home.path().join("auth.json");
        home.link(link.clone(), &self.login()).expect("it is linked");
        (home, link)
    }

    /// Returns the login, and checks that no other file is beside it.
    fn has(&self) -> String {
        let own = fs::read_dir(self.folder.path().join("own")).expect("it is there").count();
        assert_eq!(own, 1, "nothing lies around");
        fs::read_to_string(self.login()).expect("it is there")
    }

    fn left(&self) -> usize {
        fs::read_dir(self.homes()).map_or(0, Iterator::count)
    }
}

/// Renews a login by writing a new file and renaming it, with a time `at` seconds from now.
fn renew(link: &Path, text: &str, at: i64) {
    let new = link.with_extension("new");
    fs::write(&new, text).expect("the new one is written");
    let by = Duration::from_secs(at.unsigned_abs());
    let now = crate::clock::now().as_millis().unsigned_abs();
    let now = SystemTime::UNIX_EPOCH + Duration::from_millis(now);
    let time = if at < 0 { now - by } else { now + by };
    File::options().write(true).open(&new).and_then(|file| file.set_modified(time)).expect("it has a time");
    fs::rename(&new, link).expect("it is put in place");
}

#[test]
fn a_home_is_private_and_goes_with_its_value_and_the_login_stays() {
    let user = User::new();
    let mut home = Home::new(&user.homes()).expect("a home is made");
    let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode(home.path()), 0o700);
    let codex = home.folder(".codex").expect("a folder is made");
    home.link(codex.join("auth.json"), &user.login()).expect("it is linked");
    assert_eq!(fs::read_to_string(codex.join("auth.json")).expect("it is read"), FIRST);
    assert_eq!(mode(&home.record()), 0o600);
    drop(home);
    assert_eq!((user.left(), user.has().as_str()), (0, FIRST));
}

#[test]
fn a_renewed_login_is_kept_and_nothing_else_is() {
    let user = User::new();
    for (put, kept) in [("{\"tokens\":2}", "{\"tokens\":2}"), ("not json", FIRST), ("", FIRST), ("{}", FIRST)]
    {
        fs::write(user.login(), FIRST).expect("the login is written");
        let (home, link) = user.home();
        renew(&link, put, 0);
        drop(home);
        assert_eq!((user.left(), user.has().as_str()), (0, kept));
    }
    fs::set_permissions(user.login(), fs::Permissions::from_mode(0o644)).expect("it is the user's");
    fs::write(user.login(), FIRST).expect("the login is written");
    let (home, link) = user.home();
    renew(&link, "{\"tokens\":2}", 0);
    drop(home);
    let mode = fs::metadata(user.login()).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

/// Two evaluations renew the login: the newer one stays, whichever ends last.
#[test]
fn an_older_login_does_not_take_the_place_of_a_newer_one() {
    for older_ends_last in [false, true] {
        let user = User::new();
        let (one, link) = user.home();
        renew(&link, "{\"tokens\":\"newer\"}", 20);
        let (other, link) = user.home();
        renew(&link, "{\"tokens\":\"older\"}", 10);
        let (first, last) = if older_ends_last { (one, other) } else { (other, one) };
        drop(first);
        drop(last);
        assert_eq!(user.has(), "{\"tokens\":\"newer\"}", "the older one ends last: {older_ends_last}");
    }
    // The user's own CLI has renewed it meanwhile, in place.
    let user = User::new();
    let (home, link) = user.home();
    renew(&link, "{\"tokens\":\"older\"}", -10);
    fs::write(user.login(), "{\"tokens\":\"own\"}").expect("it is written");
    drop(home);
    assert_eq!(user.has(), "{\"tokens\":\"own\"}");
    // After the clock was set back the old login is not taken for newer than its renewal.
    let user = User::new();
    let (home, link) = user.home();
    renew(&link, "{\"tokens\":2}", -3600);
    drop(home);
    assert_eq!(user.has(), "{\"tokens\":2}");
}

#[test]
fn whoever_has_logged_out_meanwhile_stays_logged_out() {
    let user = User::new();
    let (home, link) = user.home();
    renew(&link, "{\"tokens\":2}", 0);
    fs::remove_file(user.login()).expect("it is there");
    drop(home);
    assert!(!user.login().exists());
}

#[test]
fn a_login_that_was_renewed_in_a_home_that_a_killed_herder_left_is_kept() {
    let user = User::new();
    let (home, link) = user.home();
    renew(&link, "{\"tokens\":2}", 0);
    // A crash while the login is being moved.
    let name = home.path().file_name().expect("a name").to_string_lossy().into_owned();
    fs::write(user.login().with_extension(format!("herder-{name}")), "{\"tok").expect("it is written");
    std::mem::forget(home);
    assert!(is_littered(&user.homes()));
    sweep(&user.homes()).expect("it is swept");
    assert_eq!((user.left(), user.has().as_str()), (0, "{\"tokens\":2}"));
    assert!(!is_littered(&user.homes()));
    sweep(&user.homes()).expect("there is nothing to sweep");
}

#[test]
fn what_a_killed_herder_left_is_swept_away_and_nothing_is_put_where_no_home_belongs() {
    let user = User::new();
    std::mem::forget(user.home());
    // An incomplete record, and one of a file outside the homes.
    fs::write(user.homes().join("0011.login"), "{\"link\":\"").expect("it is written");
    let elsewhere = user.folder.path().join("elsewhere.json");
    fs::write(&elsewhere, "{\"tokens\":\"forged\"}").expect("it is written");
    let forged = Linked { link: elsewhere, to: user.login(), seen: digest(FIRST.as_bytes()) };
    let forged = serde_json::to_vec(&forged).expect("it has a form");
    fs::write(user.homes().join("0022.login"), forged).expect("it is written");
    sweep(&user.homes()).expect("it is swept");
    assert_eq!((user.left(), user.has().as_str()), (0, FIRST), "the link is followed nowhere");
}
