// Returns the text of each page of a PDF written by Chromium: plain objects, deflated streams, and fonts with a map to
// Unicode. Spaces and line breaks are removed, because a PDF need not contain them.
import { inflateSync } from "node:zlib";

export function pagesOf(pdf: Buffer): string[] {
  const objects = new Map<number, { head: string; stream: () => string }>();
  const file = pdf.toString("latin1");
  for (const match of file.matchAll(/(?:^|\n)(\d+) 0 obj\n/g)) {
    const start = match.index + match[0].length;
    const opens = file.indexOf("stream\n", start);
    const ends = file.indexOf("endobj", start);
    const has = opens >= 0 && opens < ends;
    const head = file.slice(start, has ? opens : ends);
    const length = Number(/\/Length (\d+)/.exec(head)?.[1] ?? 0);
    const stream = () => {
      const bytes = pdf.subarray(opens + 7, opens + 7 + length);
      return (head.includes("/FlateDecode") ? inflateSync(bytes) : bytes).toString("latin1");
    };
    objects.set(Number(match[1]), { head, stream });
  }
  const unicode = (hex: string) => Buffer.from(hex, "hex").swap16().toString("utf16le");
  const fonts = new Map<string, Map<number, string>>(); // glyph to text, by number of the font's object
  const fontOf = (id: string): Map<number, string> => {
    const known = fonts.get(id);
    if (known) return known;
    const glyphs = new Map<number, string>();
    const map = /\/ToUnicode (\d+) 0 R/.exec(objects.get(Number(id))?.head ?? "")?.[1];
    const text = map ? (objects.get(Number(map))?.stream() ?? "") : "";
    for (const [, block] of text.matchAll(/beginbfchar\n([\s\S]*?)endbfchar/g))
      for (const [, glyph, to] of (block as string).matchAll(/<(\w+)> <(\w+)>/g)) glyphs.set(Number.parseInt(glyph as string, 16), unicode(to as string));
    for (const [, block] of text.matchAll(/beginbfrange\n([\s\S]*?)endbfrange/g))
      for (const [, from, until, to] of (block as string).matchAll(/<(\w+)> <(\w+)> <(\w+)>/g))
        for (let glyph = Number.parseInt(from as string, 16); glyph <= Number.parseInt(until as string, 16); glyph++)
          glyphs.set(glyph, String.fromCodePoint(Number.parseInt(to as string, 16) + glyph - Number.parseInt(from as string, 16)));
    fonts.set(id, glyphs);
    return glyphs;
  };
  const pages = [...objects.values()].filter(({ head }) => /\/Type \/Page\b(?!s)/.test(head));
  return pages.map(({ head }) => {
    const named = new Map([...head.matchAll(/\/(F\d+) (\d+) 0 R/g)].map(([, name, id]) => [name as string, id as string]));
    const content = objects.get(Number(/\/Contents (\d+) 0 R/.exec(head)?.[1]))?.stream() ?? "";
    let font = new Map<number, string>();
    let text = "";
    for (const [, name, shown] of content.matchAll(/\/(F\d+) [\d.]+ Tf|<([0-9A-F]+)> Tj/g)) {
      if (name) font = fontOf(named.get(name) ?? "");
      for (const glyph of shown?.match(/.{4}/g) ?? []) text += font.get(Number.parseInt(glyph, 16)) ?? "";
    }
    return text.replace(/\s/g, "").replaceAll("ﬁ", "fi").replaceAll("ﬂ", "fl");
  });
}
