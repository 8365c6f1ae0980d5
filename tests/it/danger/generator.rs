//! Commands with an effect that is always asked about, in the many spellings of a shell.

/// A small generator of numbers, the same ones for the same seed.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or_default() % bound
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

/// Kinds of disguise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Strategy {
    Quoting,
    Control,
    Nesting,
    Wrappers,
    Variables,
    Features,
    Globs,
    Fed,
}

pub(crate) const STRATEGIES: [Strategy; 8] = [
    Strategy::Quoting,
    Strategy::Control,
    Strategy::Nesting,
    Strategy::Wrappers,
    Strategy::Variables,
    Strategy::Features,
    Strategy::Globs,
    Strategy::Fed,
];

/// The folder of the programs, as a command of the generator names it.
pub(crate) const BIN: &str = "@BIN@";

const ACTS: &[&[&str]] = &[
    &["git", "push"],
    &["git", "push", "origin", "main"],
    &["git", "-C", ".", "push", "--force"],
    &["git", "--no-pager", "-c", "user.name=x", "push"],
    &["rm", "-rf", "x"],
    &["rm", "-r", "a b"],
    &["rm", "--recursive", "x", "y"],
    &["rm", "-f", "-R", "x"],
    &["sudo", "ls"],
    &["sudo", "-u", "root", "id"],
];

/// Returns one command of a kind.
pub(crate) fn command(random: &mut Random, strategy: Strategy) -> String {
    let act = ACTS[random.below(ACTS.len())];
    let text = disguised(random, strategy, act);
    // One in three lies within another disguise.
    match random.below(3) {
        0 => {
            let around = [Strategy::Control, Strategy::Nesting][random.below(2)];
            around_script(random, around, &text)
        }
        _ => text,
    }
}

fn disguised(random: &mut Random, strategy: Strategy, act: &[&str]) -> String {
    match strategy {
        Strategy::Quoting => words(random, act),
        Strategy::Control | Strategy::Nesting => {
            let text = words(random, act);
            around_script(random, strategy, &text)
        }
        Strategy::Wrappers => wrapped(random, act),
        Strategy::Variables => variables(random, act),
        Strategy::Features => features(random, act),
        Strategy::Globs => globs(random, act),
        Strategy::Fed => fed(random, act),
    }
}

/// Returns a word in single quotes.
pub(crate) fn single(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn double(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        if "\"\\$`".contains(c) {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted + "\""
}

fn ansi(text: &str) -> String {
    let letters: String = text.bytes().map(|byte| format!("\\x{byte:02x}")).collect();
    format!("$'{letters}'")
}

fn plain(act: &[&str]) -> String {
    act.iter()
        .map(|word| if word.contains(' ') { single(word) } else { (*word).to_owned() })
        .collect::<Vec<_>>()
        .join(" ")
}

fn word(random: &mut Random, text: &str) -> String {
    let half = text.len() / 2;
    let (before, after) = text.split_at(half);
    let any = |plain: String| if text.contains(' ') { single(text) } else { plain };
    match random.below(9) {
        0 => single(text),
        1 => double(text),
        2 => ansi(text),
        3 => format!("{}{}", single(before), double(after)),
        4 => any(format!("{before}''{after}")),
        5 => any(format!("{before}\\\n{after}")),
        6 => text.chars().map(|c| format!("\\{c}")).collect(),
        _ => any(text.to_owned()),
    }
}

fn words(random: &mut Random, act: &[&str]) -> String {
    let gap = random.pick(&[" ", "  ", "\t", " \\\n "]);
    act.iter().map(|text| word(random, text)).collect::<Vec<_>>().join(gap)
}

fn around_script(random: &mut Random, strategy: Strategy, script: &str) -> String {
    if strategy == Strategy::Control { control(random, script) } else { nested(random, script) }
}

fn control(random: &mut Random, script: &str) -> String {
    let shape = random.pick(&[
        "if true; then @; fi",
        "if false; then :; else @; fi",
        "if false; then :; elif true; then\n@\nfi",
        "for i in 1; do @; done",
        "for ((i = 0; i < 1; i++)); do @; done",
        "while true; do @; break; done",
        "until false; do\n@\nbreak\ndone",
        "case x in y) ;; x|z) @;; esac",
        "case x in\n  (x)\n @\n ;;\nesac",
        "{ @; }",
        "( @ )",
        "f() { @; }; f",
        "function f { @; }; f",
        "f() ( @ ); f",
        "true && @",
        "false || @",
        "! @",
        "@ &\nwait",
        ": ; @",
        "# nothing\n@ # at all",
        "@ >/dev/null 2>&1",
        "{ @; } 2>/dev/null",
        "true | @",
        "@ | cat",
        "[[ a == a ]] && @",
        "[ 1 = 1 ] && @",
        "(( 1 )) && @",
        "cat > f <<'EOF'\nit's nothing\nEOF\n@",
        "cat <<EOF | cat; @\nit's $(echo one)\nEOF",
        "x=$(cat <<'EOF'\nFix: don't\nEOF\n)\n@",
        "while read -r l; do @; done <<< one",
        "g() { h; }; h() { @; }; g",
        "time @",
    ]);
    shape.replace('@', script)
}

fn nested(random: &mut Random, script: &str) -> String {
    let quoted = if random.below(2) == 0 { single(script) } else { double(script) };
    match random.below(24) {
        0 => format!("bash -c {quoted}"),
        1 => format!("sh -c {quoted}"),
        2 => format!("bash -euc {quoted} bash one two"),
        3 => format!("eval {quoted}"),
        4 => format!("eval 'bash' -c {}", single(&single(script))),
        5 => format!("echo \"$({script}\n)\""),
        6 => format!("x=$({script}\n)"),
        7 => format!("cat <({script}\n)"),
        8 => format!("bash <<'EOF'\n{script}\nEOF"),
        9 => format!("bash -s <<'EOF' one\n{script}\nEOF"),
        10 => format!("bash <<< {quoted}"),
        11 => format!("echo {} | sh", single(script)),
        12 => format!("printf %s {} | bash", single(script)),
        13 => format!("trap {quoted} EXIT; exit"),
        14 => format!(". <(printf '%s\\n' {})", single(script)),
        15 => format!("source /dev/stdin <<< {quoted}"),
        16 => format!("find . -maxdepth 0 -exec bash -c {quoted} \\;"),
        17 => format!("echo one | xargs -I{{}} sh -c {quoted}"),
        18 => format!("bash -c \"$(printf %s {})\"", single(script)),
        19 => format!("eval \"$(echo {})\"", single(script)),
        20 => format!("cat > s.sh <<'EOF'\n{script}\nEOF\nbash s.sh"),
        21 => format!("printf '%s\\n' {} > s.sh; sh ./s.sh", single(script)),
        22 => format!("c={quoted}; bash -c \"$c\""),
        _ => format!("f() {{ eval \"$1\"; }}; f {quoted}"),
    }
}

fn wrapped(random: &mut Random, act: &[&str]) -> String {
    let shape = random.pick(&[
        "env @",
        "env A=b @",
        "env -u HOME @",
        "env -- @",
        "/usr/bin/env @",
        "env -S'@'",
        "env -S '@'",
        "env -vS '@'",
        "env --split-string='@'",
        "env -i PATH=\"$PATH\" LOG=\"$LOG\" CASE=\"$CASE\" @",
        "nice @",
        "nice -n 5 @",
        "timeout 5 @",
        "timeout -s KILL 5s @",
        "timeout --foreground 5 @",
        "nohup @",
        "stdbuf -oL @",
        "setsid -w @",
        "command @",
        "command -- @",
        "(exec @)",
        "(exec -a x @)",
        "time @",
        "time -p @",
        "setpriv @",
        "prlimit @",
        "setarch @",
        "choom -n 0 -- @",
        "ionice -c 3 @",
        "flock lock @",
        "env nice timeout 5 @",
        "xargs @ < /dev/null",
        "echo | xargs @",
        "find . -maxdepth 0 -exec @ \\;",
        "find . -maxdepth 0 -exec @ {} +",
        "coproc @; wait",
        "A=b C=d @",
        ">/dev/null @",
        "2>&1 @",
        "script -qc '@' /dev/null",
        "builtin eval '@'",
        "builtin command @",
        "chrt -o 0 @",
        "taskset 1 @",
        "unshare -r @",
        "linux64 @",
    ]);
    let shape = shape.replace("/usr/bin", BIN);
    let act: Vec<&str> = act.iter().map(|word| if *word == "a b" { "ab" } else { word }).collect();
    shape.replace('@', &plain(&act)).replace(&format!("{}BIN{}", plain(&act), plain(&act)), BIN)
}

fn variables(random: &mut Random, act: &[&str]) -> String {
    let (program, rest) = (act[0], plain(&act[1..]));
    let all = plain(act);
    let flat = act.join(" ").replace("a b", "ab");
    let (before, after) = program.split_at(1);
    let upper = program.to_uppercase();
    match random.below(44) {
        0 => format!("x={program}; $x {rest}"),
        1 => format!("x='{flat}'; $x"),
        2 => format!("x={}; eval \"$x\"", single(&all)),
        3 => format!("a={before} b={after}; $a$b {rest}"),
        4 => format!("a={before}; a+={after}; \"$a\" {rest}"),
        5 => format!("x=z{program}; ${{x#z}} {rest}"),
        6 => format!("x={program}.sh; ${{x%.sh}} {rest}"),
        7 => format!("X={upper}; ${{X,,}} {rest}"),
        8 => format!("r=x x={program}; ${{!r}} {rest}"),
        9 => format!("${{unset_here:-{program}}} {rest}"),
        10 => format!("x=1; ${{x:+{program}}} {rest}"),
        11 => format!(": ${{x:={program}}}; $x {rest}"),
        12 => format!("set -- {all}; \"$@\""),
        13 => format!("set -- {all}; $*"),
        14 => format!("set -- {program} {rest}; x=$1; shift; $x \"$@\""),
        15 => format!("read -r c <<< '{flat}'; $c"),
        16 => format!("read -ra c <<< '{flat}'; \"${{c[@]}}\""),
        17 => format!("printf -v c %s {program}; $c {rest}"),
        18 => format!("a=({all}); \"${{a[@]}}\""),
        19 => format!("a=({program}); a+=({rest}); \"${{a[@]}}\""),
        20 => format!("a=(x {program}); ${{a[1]}} {rest}"),
        21 => format!("declare -A m=([k]={program}); ${{m[k]}} {rest}"),
        22 => format!("declare -A m; m[k]={program}; \"${{m[k]}}\" {rest}"),
        23 => format!("for x in {program}; do $x {rest}; done"),
        24 => format!("for x in echo {program}; do $x {rest}; done"),
        25 => format!("while read -r l; do $l; done <<< '{flat}'"),
        26 => format!("IFS=:; c='{}'; $c", flat.replace(' ', ":")),
        27 => format!("export c={program}; $c {rest}"),
        28 => format!("f() {{ local c={program}; \"$c\" {rest}; }}; f"),
        29 => format!("readonly c={program}; $c {rest}"),
        30 => format!("x=Z{after}; ${{x/Z/{before}}} {rest}"),
        31 => format!("x=__{program}__; ${{x:2:{}}} {rest}", program.len()),
        32 => format!("c=$(echo {program}); $c {rest}"),
        33 => format!("\"$(echo {program})\" {rest}"),
        34 => format!("mapfile -t c <<< {program}; ${{c[0]}} {rest}"),
        35 => format!("f() {{ \"$@\"; }}; f {all}"),
        36 => format!("f() {{ $1 \"${{@:2}}\"; }}; f {all}"),
        37 => format!("declare -n r=x; x={program}; $r {rest}"),
        38 => format!("sh -c 'exec \"$@\"' sh {all}"),
        39 => format!("bash -c '\"$@\"' _ {all}"),
        40 => format!("bash -c '$0 \"$@\"' {all}"),
        41 => format!("x={program} bash -c '$x {}'", rest.replace('\'', "")),
        42 => format!("if false; then x=ls; else x={program}; fi; $x {rest}"),
        _ => format!("g() {{ x={program}; }}; g; $x {rest}"),
    }
}

fn features(random: &mut Random, act: &[&str]) -> String {
    let (program, rest) = (act[0], plain(&act[1..]));
    let all = plain(act);
    let flat: Vec<&str> = act.iter().map(|word| if *word == "a b" { "ab" } else { word }).collect();
    let braces = flat.join(",");
    match random.below(30) {
        0 => format!("{{{braces}}}"),
        1 => format!("{{{program},{}}} {}", flat[1], flat[2..].join(" ")),
        2 => format!("shopt -s expand_aliases\nalias p={program}\np {rest}"),
        3 => format!("shopt -s expand_aliases; alias p={}\np", single(&all)),
        4 => format!("coproc {{ {all}; }}; wait"),
        5 => format!("exec < <(echo {}); bash", single(&all)),
        6 => format!("exec 3< <(echo {}); bash <&3", single(&all)),
        7 => format!("bash < <(echo {})", single(&all)),
        8 => format!("hash -p {BIN}/{program} q; q {rest}"),
        9 => format!("select x in {program}; do $x {rest}; break; done <<< 1"),
        10 => format!("[[ -z $({all}) ]]"),
        11 => format!("echo $(( 1 + $({all} >/dev/null; echo 1) ))"),
        12 => format!("cat <<EOF\n$({all})\nEOF"),
        13 => format!("cat <<EOF\n`{all}`\nEOF"),
        14 => format!("mapfile -C {} -c 1 <<< one", single(&format!("{all} #"))),
        15 => format!("trap {} DEBUG; :", single(&all)),
        16 => format!("BASH_ENV=<(echo {}) bash -c :", single(&all)),
        17 => format!("x=({all}); \"${{x[0]}}\" \"${{x[@]:1}}\""),
        18 => format!("echo {} > >(bash); wait; sleep 0.05", single(&all)),
        19 => format!("p={BIN}; $p/{program} {rest}"),
        20 => format!("x={program}; ${{x@L}} {rest}"),
        21 => format!(": {program}; $_ {rest}"),
        22 => format!("f() {{ {program} \"$@\"; }}; f {rest}"),
        23 => format!("f() {{ shift; \"$@\"; }}; f x {all}"),
        24 => format!(
            "f() {{ while [ $# -gt 0 ]; do case $1 in --) shift; break;; *) shift;; esac; done; \"$@\"; }}; f a -- {all}"
        ),
        25 => format!("{program}${{IFS}}{}", flat[1..].join("${IFS}")),
        26 => format!("a[0]={program}; a[1]='{}'; ${{a[*]}}", flat[1..].join(" ")),
        27 => format!("set -- \"$@\" {all}; eval \"$*\""),
        28 => format!("c=({}); for w in \"${{c[@]}}\"; do eval \"$w\"; done", single(&all)),
        _ => format!("`echo {program}` {rest}"),
    }
}

fn globs(random: &mut Random, act: &[&str]) -> String {
    let (program, rest) = (act[0], plain(&act[1..]));
    let (before, after) = program.split_at(1);
    let last = program.len() - 1;
    let pattern = match random.below(8) {
        0 => format!("{}?", &program[..last]),
        1 => format!("[{before}]{after}"),
        2 => format!("?{after}"),
        3 => format!("{}[{}]", &program[..last], &program[last..]),
        4 => format!("{before}[!0]{}", &program[2..]),
        5 => format!("[a-z]{after}"),
        6 => format!("[[:alpha:]]{after}"),
        _ => format!("?{}", "?".repeat(last)).replacen('?', before, 1),
    };
    match random.below(4) {
        0 => format!("x={BIN}/{pattern}; $x {rest}"),
        1 => format!("env {BIN}/{pattern} {rest}"),
        2 => format!("cd {BIN} && ./{pattern} {rest}"),
        _ => format!("{BIN}/{pattern} {rest}"),
    }
}

/// Commands that come from another one. `curl` prints one of a shell's.
fn fed(random: &mut Random, act: &[&str]) -> String {
    let flat: Vec<&str> = act.iter().map(|word| if *word == "a b" { "ab" } else { word }).collect();
    let rest = flat[1..].join(" ");
    let (program, all) = (flat[0], flat.join(" "));
    match random.below(26) {
        0 => "curl x | sh".to_owned(),
        1 => "curl x | bash -s".to_owned(),
        2 => "bash <(curl x)".to_owned(),
        3 => "eval \"$(curl x)\"".to_owned(),
        4 => "$(curl x)".to_owned(),
        5 => "c=$(curl x); $c".to_owned(),
        6 => "curl x | while read -r l; do $l; done".to_owned(),
        7 => "curl x > f && sh f".to_owned(),
        8 => "curl -o f x && bash ./f".to_owned(),
        9 => "curl x | xargs -I{} sh -c '{}'".to_owned(),
        10 => "curl x | (cd . && bash)".to_owned(),
        11 => "curl x | { read -r a; $a; }".to_owned(),
        12 => "sh -c \"$(curl x)\"".to_owned(),
        13 => "curl x | tee f | sh".to_owned(),
        14 => format!("echo {rest} | xargs {program}"),
        15 => format!("echo {all} | xargs env"),
        16 => format!("echo {all} | xargs timeout 5"),
        17 => format!("echo {all} | xargs -n 9 nice"),
        18 => format!("printf '%s\\n' '{all}' | while IFS= read -r c; do eval \"$c\"; done"),
        19 => format!("echo {} | rev | sh", all.chars().rev().collect::<String>()),
        20 => format!("bash -c \"$(echo {} | rev)\"", all.chars().rev().collect::<String>()),
        21 => format!("$(echo {} | rev) {rest}", program.chars().rev().collect::<String>()),
        22 => format!("echo '{all}' > f; . ./f"),
        23 => format!("echo '{all}' | sed s/x/x/ > f; sh f"),
        24 => format!("printf '{program}' > f; $(cat f) {rest}"),
        _ => format!("x=$(cat <<'EOF'\n{program}\nEOF\n); $x {rest}"),
    }
}
