"""Strings as programs' interfaces have them, in English and German, with all
kinds of spans that a translation must keep: made from templates, always the
same ones for a seed."""

import random

_KINDS = {
    "printf": ["%s", "%d", "%1$s", "%2$d", "%.2f", "%5.1f%%", "%@", "%lu",
               "%(name)s", "%(count)d", "%-10s", "%03d", "%zu", "%x"],
    "icu": ["{0}", "{name}", "{userName}", "{count, number}",
            "{when, date, short}", "{0,number,percent}",
            "{count, plural, one {# file} other {# files}}",
            "{gender, select, male {he} female {she} other {they}}"],
    "mustache": ["{{name}}", "{{ user.email }}", "{{{raw_html}}}",
                 "{{item_count}}", "{{&path}}"],
    "url": ["https://example.com", "https://www.example.org/help?id=42&l=en",
            "http://localhost:8080/status", "www.example.net/a_(b)",
            "https://docs.example.com/v2/guide.html#setup"],
    "email": ["support@example.com", "jane.doe+news@mail.example.org",
              "no-reply@example.co.uk"],
    "file": ["config.json", "/etc/trivium/server.conf", "~/Downloads/a.zip",
             "C:\\Users\\Public\\notes.txt", "report-2024.pdf",
             "src/main.cc", "./build.sh"],
    "unit": ["5 km", "3.5 GB", "100 %", "250 ms", "-12 °C", "16 kHz",
             "1,500 mg", "60 km/h", "$19.99", "30 €"],
}
# What each kind is protected by.
PRESETS = ["PRINTF", "ICU_MESSAGE", "MUSTACHE", "URL", "EMAIL", "FILE_NAME",
           "NUMBER_WITH_UNIT"]

# <v> is any variable.
_TEMPLATES = {
    "en": [
        "<v> has joined the conversation.", "Welcome back, <v>!",
        "Do you really want to delete <v>?", "Could not open <file>: <v>",
        "Copied <v> files to <file>.", "Your order <v> will arrive on <v>.",
        "Hello <v>, please confirm your address <email>.",
        "Visit <url> for more information.", "See <url>.",
        "If you need help, write to <email> or call us.",
        "The file <file> was not found.", "Saving <file> …",
        "<v> of <v> items are selected.", "You have <v> new messages.",
        "The download of <file> (<unit>) is complete.",
        "Only <unit> of free space are left on <v>.",
        "The server at <url> did not answer within <unit>.",
        "Error <v>: <v>", "Sign in as <v>", "Sent by <v> on <v>",
        "The password for <email> was changed. If it was not you, go to <url>.",
        "Open the settings and set the limit to <unit>.",
        "<v> invited you to the group <v>.", "Move <v> to the trash?",
        "The temperature must be below <unit>.", "Last seen <v> ago",
        "Replace <v> with <v> in <file>?", "Page <v> of <v>",
        "<v>: no such file or directory", "Press <v> to continue.",
        "Uploading <file> to <url> failed because the connection was lost.",
        "Your trial ends in <v> days. Upgrade now for <unit> a month!",
        "<v> and <v> others like your photo.", "Share “<v>” with <v>",
        "Line <v>, column <v>: unexpected character “<v>”",
        "Please save your changes before closing <v>.",
    ],
    "de": [
        "<v> ist der Unterhaltung beigetreten.", "Willkommen zurück, <v>!",
        "Möchten Sie <v> wirklich löschen?",
        "<file> konnte nicht geöffnet werden: <v>",
        "<v> Dateien wurden nach <file> kopiert.",
        "Ihre Bestellung <v> kommt am <v> an.",
        "Hallo <v>, bitte bestätigen Sie Ihre Adresse <email>.",
        "Weitere Informationen finden Sie unter <url>.", "Siehe <url>.",
        "Wenn Sie Hilfe brauchen, schreiben Sie an <email>.",
        "Die Datei <file> wurde nicht gefunden.",
        "<v> von <v> Einträgen sind ausgewählt.",
        "Sie haben <v> neue Nachrichten.",
        "Der Download von <file> (<unit>) ist abgeschlossen.",
        "Auf <v> sind nur noch <unit> frei.",
        "Der Server unter <url> hat innerhalb von <unit> nicht geantwortet.",
        "Fehler <v>: <v>", "Als <v> anmelden", "Gesendet von <v> am <v>",
        "Das Passwort für <email> wurde geändert. Waren Sie das nicht, "
        "besuchen Sie <url>.",
        "Öffnen Sie die Einstellungen und setzen Sie die Grenze auf <unit>.",
        "<v> hat Sie in die Gruppe <v> eingeladen.",
        "<v> in den Papierkorb verschieben?",
        "Die Temperatur muss unter <unit> liegen.",
        "<v> in <file> durch <v> ersetzen?", "Seite <v> von <v>",
        "<v>: Datei oder Verzeichnis nicht gefunden",
        "Drücken Sie <v>, um fortzufahren.",
        "Das Hochladen von <file> nach <url> ist fehlgeschlagen, weil die "
        "Verbindung unterbrochen wurde.",
        "Ihre Testphase endet in <v> Tagen. Jetzt für <unit> im Monat buchen!",
        "<v> und <v> andere mögen Ihr Foto.", "„<v>“ mit <v> teilen",
        "Zeile <v>, Spalte <v>: unerwartetes Zeichen „<v>“",
        "Bitte speichern Sie Ihre Änderungen, bevor Sie <v> schließen.",
    ],
}


def interface_strings(language, count, seed=1):
    """`count` pairs of a text and the spans in it."""
    rng = random.Random(f"{seed} {language}")
    made = []
    for _ in range(count):
        # A program has placeholders of one kind.
        variables = rng.choice(["printf", "icu", "mustache"])
        pieces, spans = [], []
        for piece in rng.choice(_TEMPLATES[language]).split("<"):
            kind, mark, rest = piece.partition(">")
            if not mark:
                pieces.append(piece)
                continue
            span = rng.choice(_KINDS[variables if kind == "v" else kind])
            spans.append(span)
            pieces += [span, rest]
        made.append(("".join(pieces), spans))
    return made
