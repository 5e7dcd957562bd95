// The tables are data: they list words as they are written within a sentence. A
// word that is also an ordinary one ("no", "art", "sun") counts as an
// abbreviation only where the table says what must follow it.
#include "server/translation/abbreviations.h"

#include <algorithm>
#include <vector>

namespace trivium {
namespace {

using Words = std::vector<std::string_view>;  // sorted

struct Tables {
  Words before_name, before_number, anywhere, starters;
};

// Splits a literal into words at white space, and sorts them.
Words ListOf(std::string_view text) {
  constexpr std::string_view kSpace = " \n";
  Words words;
  for (size_t begin = text.find_first_not_of(kSpace);
       begin != std::string_view::npos;
       begin = text.find_first_not_of(kSpace)) {
    text.remove_prefix(begin);
    const size_t end = std::min(text.find_first_of(kSpace), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  std::sort(words.begin(), words.end());
  return words;
}

bool Has(const Words& words, std::string_view word) {
  return std::binary_search(words.begin(), words.end(), word);
}

const Tables& English() {
  static const Tables* const kTables = new Tables{.before_name = ListOf(R"(
        Adj Adm Adv Asst Brig Capt Cdr Cmdr Col Comdr Cpl Cpt Dr Drs Ens Fr Ft
        Gen Gov Hon Insp Lt Maj Messrs Mlle Mme Mr Mrs Ms Mt Mts Msgr Ofc Pfc
        Pres Prof Pvt Rep Reps Rev Rt Sen Sens Sgt Supt approx ca cf eg e.g
        esp excl i.e ie incl rep resp viz vs v)"),
                                                  .before_number = ListOf(R"(
        Apr App Art Aug Bl Ch Dec Eq Ex Feb Fig Figs Jan Jul Jun Mar No Nos
        Nov Oct Op Pt Reg Sec Sect Sep Sept Ser Vol Vols art ch circa col eq
        fig figs fol no nos op p par para pp sec vol vols)"),
                                                  .anywhere = ListOf(R"(
        Assn Ave Blvd Bros Co Corp Dept Dist Esq Inc Jr LLC Ltd MD Mfg PhD
        Ph.D Pty Rd Sr St Univ a.m abbr al approx apt assoc ave avg cal cont
        cu deg dept dist div ed eds est et etc ext ft govt hr hrs inc lb lbs max
        mgr min misc mo mos oz p.m pkg pl pts qt qty seq sq tbsp tsp univ yd yr
        yrs)"),
                                                  .starters = ListOf(R"(
        A About Additionally After All Although Also An And Another Any Are As At Because
        Before Both But By Can Despite Did Do Does During Each Even Every
        Finally First For From Furthermore Had Has Have He Her Here His How However I I'll
        I'm I've If In Instead Is It It's Its Last Later Let Many Maybe
        Meanwhile More Most Moreover My Nevertheless No Nobody None Not
        Nothing Now Of On Once One Only Other Others Our Over People Perhaps
        Please She Should Since So Some Soon Still Such Thank Thanks That
        That's The Their Then There There's Therefore These They They're This
        Those Though Through Thus To Today Two Under Unfortunately Until Was
        We We're Were What When Where Whether Which While Who Why Will With
        Without Would Yes Yesterday Yet You You're Your)")};
  return *kTables;
}

const Tables& German() {
  static const Tables* const kTables = new Tables{.before_name = ListOf(R"(
        Abb Abg Abs Abt Adr Anh Anl Anm Aufl Ausg Az Bd Bde Bearb Bl Bsp
        Buchst Bst Dipl Dir Dr Fa Fr Frl Gbr Gebr Gem Hft Hr Hrn Hrsg Ing Inh
        Kl Lt Mag Mr Mrs Ms Nr Nrn Obj Pfr Pkt Prof Reg Rn Rz Sekt Sen Slg Sr
        St Std-Nr Str.-Nr Tab Tel Univ Urt Verf Verl Vgl Ziff a.a.O abgek abs
        abzgl allg amtl anschl av beil beisp bes bezgl bspw bzgl bzw ca d.h
        dgl d.i dt ebd eigtl einschl engl entspr erg ev evtl exkl frz geb gegr
        gem gen gesch gest ggf ggfs ggü hg hl i.A i.d.R i.e i.S i.S.d i.V inkl
        insb insbes ital jew kath kgl lat lfd lt m.E m.W max min mind nachf
        o.g od ordentl orig österr phil prot resp rd röm russ s.a s.o s.u sen
        sog span sogen spez städt stellv stv südl techn teilw tel u.a.m u.U
        u.ä u.a übl ung urspr v.a v.Chr verh verm versch vgl vmtl vorl vorm vs
        westl wg z.B z.T z.Zt z.Z zB zahlr zit zool ztw zzgl zw)"),
                                                  .before_number = ListOf(R"(
        Apr Aug Dez Feb Fig Jan Jul Jun Mär Nov Okt Sep Sept Art Bd Kap Lit
        Seite S)"),
                                                  .anywhere = ListOf(R"(
        Chr Co Hbf Jh Jhd Jhdt Jhs Jr Jt Ltd Inc Corp Mill Mio Min Mrd Mstr Pl
        Sek Std Str Stk Tsd etc f ff n.Chr jun str u.s.w usf usw u.v.m u.dgl
        u.Ä a.D a.M d.J d.M e.V i.R m.b.H o.Ä o.ä usw)"),
                                                  .starters = ListOf(R"(
        Aber Alle Allerdings Alles Als Also Am An Anders Anschließend Auch Auf
        Aufgrund Aus Außerdem Bei Beide Beim Bereits Bis Bisher Da Dabei
        Dadurch Dafür Daher Damals Damit Danach Dann Darauf Darin Darüber
        Darum Das Dass Davon Dazu Dem Den Denn Dennoch Der Deren Deshalb
        Dessen Die Dies Diese Dieser Dieses Doch Dort Du Durch Ebenso Ein Eine
        Einen Einer Einem Eines Einige Er Erst Es Etwa Für Gegen Gleichzeitig
        Hier Hierbei Ich Ihm Ihr Ihre Im Immer In Insgesamt Ist Ja Jede Jeder
        Jedes Jedoch Jetzt Kein Keine Man Manche Mehr Mein Meine Mit Nach
        Nachdem Natürlich Neben Nein Nicht Nichts Noch Nun Nur Ob Obwohl Oder
        Ohne Schließlich Schon Seit Seitdem Sein Seine Selbst Sie Sind So
        Sobald Sogar Solche Somit Später Statt Trotz Trotzdem Über Um Und
        Unser Unsere Unter Viele Vielleicht Vom Von Vor Während Wann War Waren
        Warum Was Weder Weil Weiter Weitere Wenn Wer Wie Wieder Wir Wird Wo
        Während Zu Zudem Zum Zunächst Zur Zwar Zwischen)")};
  return *kTables;
}

bool IsGerman(std::string_view language) { return language == "de"; }
bool IsEnglish(std::string_view language) { return language == "en"; }

Abbreviation Find(const Tables& tables, std::string_view word) {
  if (Has(tables.before_name, word)) return Abbreviation::kBeforeName;
  if (Has(tables.anywhere, word)) return Abbreviation::kAnywhere;
  if (Has(tables.before_number, word)) return Abbreviation::kBeforeNumber;
  return Abbreviation::kNone;
}

}  // namespace

Abbreviation FindAbbreviation(std::string_view language,
                              std::string_view word) {
  if (IsGerman(language)) return Find(German(), word);
  const Abbreviation found = Find(English(), word);
  if (found != Abbreviation::kNone || IsEnglish(language)) return found;
  return Find(German(), word);
}

bool IsSentenceStarter(std::string_view language, std::string_view word) {
  return (!IsGerman(language) && Has(English().starters, word)) ||
         (!IsEnglish(language) && Has(German().starters, word));
}

}  // namespace trivium
