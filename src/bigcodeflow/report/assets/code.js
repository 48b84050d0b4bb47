// Python in quiet colours.

const KEYWORDS = new Set(('False None True and as assert async await break case class continue def del elif else except finally for from '
  + 'global if import in is lambda match nonlocal not or pass raise return try while with yield').split(' '));
const TOKENS = new RegExp([
  /(?<comment>#[^\n]*)/,
  /(?<string>(?:\b[rbfuRBFU]{1,2})?(?:"""(?:\\[^]|(?!""")[^])*(?:"""|$)|'''(?:\\[^]|(?!''')[^])*(?:'''|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?))/,
  /(?<number>\b\d[\d_.eExXa-fA-F]*\b)/,
  /(?<word>[A-Za-z_]\w*)/,
].map((pattern) => pattern.source).join('|'), 'g');
const MOST_COLOURED = 60000;

function* coloured(text) {
  let end = 0;
  for (const match of text.matchAll(TOKENS)) {
    const kind = kindOf(match);
    if (!kind) continue;
    if (match.index > end) yield text.slice(end, match.index);
    yield make('span', { class: kind }, match[0]);
    end = match.index + match[0].length;
  }
  yield text.slice(end);
}

function kindOf({ groups }) {
  if (groups.comment) return 'c';
  if (groups.string) return 's';
  if (groups.number) return 'm';
  return KEYWORDS.has(groups.word) ? 'k' : null;
}
