// A graph as SVG: Graphviz, compiled to WebAssembly, draws its DOT text. A megabyte, so it is loaded when it is asked for.
//
//   V1. The drawing stands alone: no script, no link, no file or address from which a viewer would load anything.
//   V2. Labels are data: what they look like in DOT, HTML or XML is drawn as it was written.

/** @param dot of `graphText`; V2 is its matter towards Graphviz, and Graphviz's towards XML. */
export async function svgText(dot: string): Promise<string> {
  const { instance } = await import('@viz-js/viz')
  const drawn = (await instance()).renderString(dot, {
    format: 'svg',
    graphAttributes: { bgcolor: 'white' },
    nodeAttributes: { fontname: FONT, fontsize: 11 },
    edgeAttributes: { fontname: FONT, fontsize: 10 },
  })
  // A viewer that has no Courier takes another one of the same width. In texts a quotation mark is an entity.
  const widely = drawn.replaceAll(`font-family="${FONT}"`, `font-family="${FONT},monospace"`)
  // Without the type of document before it, whose address a reader of XML might ask (V1).
  return `${widely.slice(widely.indexOf('<svg')).trimEnd()}\n`
}

/** Graphviz knows how wide its letters are; and those of all fonts in its place are as wide, so that texts stay in their boxes. */
const FONT = 'Courier'
