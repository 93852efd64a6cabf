# Prints the apt entry (deb822) of CODENAME-backports for the mirror of the Debian main archive that
# is named in the given source files, with the options that entry carries (key, architectures, ...).
# Usage: awk -v codename=bookworm -f backports_entry.awk FILE...
# Files named *.sources are read as deb822, others as one-line entries.

BEGIN {
    split("Signed-By Architectures Trusted Check-Valid-Until Allow-Insecure", kept)
    one_line["signed-by"] = "Signed-By"
    one_line["arch"] = "Architectures"
    one_line["trusted"] = "Trusted"
    one_line["check-valid-until"] = "Check-Valid-Until"
    one_line["allow-insecure"] = "Allow-Insecure"
}

FNR == 1 { end_stanza(); deb822 = (FILENAME ~ /\.sources$/) }
{ sub(/\r$/, "") }
/^[ \t]*#/ { next }
deb822 && /^[ \t]*$/ { end_stanza(); next }
deb822 && /^[ \t]/ { field[name] = field[name] "\n" $0; next } # a folded line, e.g. of a key
deb822 {
    name = tolower(substr($0, 1, index($0, ":") - 1))
    field[name] = substr($0, index($0, ":") + 1)
    sub(/^[ \t]+/, "", field[name])
    next
}
$1 == "deb" { read_line($0) }
END {
    end_stanza()
    best = best_mirror()
    if (best) {
        print "Types: deb"
        print "URIs: " mirror_uri[best]
        print "Suites: " codename "-backports"
        print "Components: main"
        printf "%s", mirror_options[best]
    }
}

function read_line(line,    options, count, words, pair, i, separator) {
    options = ""
    if (match(line, /\[[^]]*\]/)) {
        options = substr(line, RSTART + 1, RLENGTH - 2)
        line = substr(line, 1, RSTART - 1) substr(line, RSTART + RLENGTH)
    }
    sub(/#.*/, "", line)
    clear()
    count = split(options, words)
    for (i = 1; i <= count; i++) {
        separator = index(words[i], "=")
        pair = substr(words[i], separator + 1)
        gsub(/,/, " ", pair)
        if (tolower(substr(words[i], 1, separator - 1)) in one_line)
            field[tolower(one_line[tolower(substr(words[i], 1, separator - 1))])] = pair
    }
    count = split(line, words)
    field["types"] = words[1]
    field["uris"] = words[2]
    field["suites"] = words[3]
    for (i = 4; i <= count; i++) field["components"] = field["components"] " " words[i]
    consider()
    clear()
}

function end_stanza() { if ("uris" in field) consider(); clear() }

function clear(    key) { for (key in field) delete field[key] }

function has_word(text, word) {
    gsub(/[ \t\n]+/, " ", text)
    return index(" " text " ", " " word " ") > 0
}

# Notes each mirror of the entry that may be the main archive. Other archives, too, have a suite with
# the release's name; but only the main archive has updates, and its path ends in "debian".
function consider(    uris, count, i, uri, rank, alias) {
    if (tolower(field["enabled"]) == "no" || !has_word(field["types"], "deb")) return
    if (!has_word(field["components"], "main")) return
    alias = has_word(field["suites"], "stable") || has_word(field["suites"], "oldstable")
    count = split(field["uris"], uris)
    for (i = 1; i <= count; i++) {
        uri = uris[i]
        sub(/\/$/, "", uri)
        if (uri ~ /^cdrom:/) continue
        if (has_word(field["suites"], codename "-updates")) has_updates[uri] = 1
        rank = (uri ~ /\/debian(\.list)?$/ || uri ~ /\/archive\/debian\/[0-9TZ]+$/) ? 2 : 1
        if (has_word(field["suites"], codename) || rank == 2 && alias) {
            mirrors++
            mirror_uri[mirrors] = uri
            mirror_rank[mirrors] = rank
            mirror_options[mirrors] = options_of()
        }
    }
}

function best_mirror(    i, rank, best, best_rank) {
    best = 0
    best_rank = 0
    for (i = 1; i <= mirrors; i++) {
        rank = mirror_rank[i] + (mirror_uri[i] in has_updates ? 2 : 0)
        if (rank > best_rank) { best = i; best_rank = rank }
    }
    return best
}

function options_of(    i, text) {
    text = ""
    for (i = 1; i in kept; i++)
        if (field[tolower(kept[i])] != "") text = text kept[i] ": " field[tolower(kept[i])] "\n"
    return text
}
