// Formats a graph as text, Mermaid, Graphviz DOT or JSON (pure), and renders DOT as SVG.

import type { Graph, GraphEdge, GraphNode } from './graph-model.ts'
import { phaseOf } from './job-tree.ts'
import { colourOf, nameOf, type Paint, singleLine } from './format.ts'

export const GRAPH_FORMATS = ['text', 'mermaid', 'dot', 'svg', 'json'] as const
export type GraphFormat = (typeof GRAPH_FORMATS)[number]

export function graphText(graph: Graph, format: Exclude<GraphFormat, 'svg'>, paint: Paint): string {
  switch (format) {
    case 'text':
      return treeText(graph, paint)
    case 'mermaid':
      return mermaid(graph)
    case 'dot':
      return dot(graph)
    case 'json':
      return `${JSON.stringify(dataOf(graph), null, 2)}\n`
  }
}

function treeText(graph: Graph, paint: Paint): string {
  const below = new Map<string | undefined, GraphNode[]>()
  for (const node of graph.nodes) below.set(node.parent, [...(below.get(node.parent) ?? []), node])
  const titles = new Map(graph.nodes.map((node) => [node.id, shortName(node)]))
  const before = new Map<string, GraphEdge[]>()
  for (const edge of graph.edges) before.set(edge.to, [...(before.get(edge.to) ?? []), edge])
  const lines = (node: GraphNode, first: string, rest: string): readonly string[] => {
    const phase = phaseOf(node.jobNode)
    const own = [
      `${first}${titleOf(node)}`,
      paint(colourOf(phase), phase),
      ...orderText(node, before, { titles, paint }),
    ]
    const children = below.get(node.id) ?? []
    return [
      `${own.join('  ')}\n`,
      ...children.flatMap((child, index) => {
        const isLast = index === children.length - 1
        return lines(child, `${rest}${isLast ? '└─ ' : '├─ '}`, `${rest}${isLast ? '   ' : '│  '}`)
      }),
    ]
  }
  const cycles = graph.cycles.map(
    (path) => `${paint('red', 'cycle')}: ${path.map((id) => titles.get(id) ?? '').join(' -> ')}\n`,
  )
  const head = cycles.length === 0 ? [] : [...cycles, '\n']
  return [...head, ...(below.get(undefined) ?? []).flatMap((root) => lines(root, '', ''))].join('')
}

interface Words {
  readonly titles: ReadonlyMap<string, string>
  readonly paint: Paint
}

function orderText(
  node: GraphNode,
  before: ReadonlyMap<string, readonly GraphEdge[]>,
  { titles, paint }: Words,
): readonly string[] {
  const edges = before.get(node.id) ?? []
  const after = edges.map(({ from, data, inCycle }) => {
    const what = data.length === 0 ? '' : ` (${data.map((name) => singleLine(name, 100)).join(', ')})`
    return `${titles.get(from) ?? ''}${what}${inCycle ? paint('red', ' [cycle]') : ''}`
  })
  const missing = node.missing.map((name) => singleLine(name, 100)).join(', ')
  return [
    ...(after.length === 0 ? [] : [`after ${after.join(', ')}`]),
    ...(missing === '' ? [] : [`needs, not in this graph: ${missing}`]),
  ]
}

function titleOf({ jobNode: at, alias }: GraphNode): string {
  return `${singleLine(nameOf(at.object), 300)}${alias === undefined ? '' : ` (${singleLine(alias, 100)})`}`
}

/** The name by which siblings refer to the object. */
function shortName({ jobNode: at, alias }: GraphNode): string {
  return singleLine(alias ?? at.object.name, 100)
}

function mermaid({ nodes, edges }: Graph): string {
  const quoted = (text: string) => `"${text.replace(/[^\w\s./:()-]/g, (one) => `#${one.codePointAt(0) ?? 63};`)}"`
  const owned = nodes.filter(({ parent }) => parent !== undefined)
  const red = edges.flatMap(({ inCycle }, index) => (inCycle ? [owned.length + index] : []))
  return [
    'flowchart TD',
    ...nodes.map(
      (node) =>
        `  ${node.id}[${quoted(`${titleOf(node)} ${phaseOf(node.jobNode)}`)}]:::${colourOf(phaseOf(node.jobNode))}`,
    ),
    ...owned.map(({ id, parent }) => `  ${parent ?? ''} --- ${id}`),
    ...edges.map(({ from, to, data, inCycle }) => {
      const text = [...(inCycle ? ['cycle'] : []), ...data].join(', ')
      return `  ${from} ${text === '' ? '-->' : `-->|${quoted(singleLine(text, 200))}|`} ${to}`
    }),
    ...(red.length === 0 ? [] : [`  linkStyle ${red.join(',')} stroke:red`]),
    '  classDef green stroke:green',
    '  classDef red stroke:red',
    '  classDef yellow stroke:orange',
  ]
    .map((line) => `${line}\n`)
    .join('')
}

const DOT_COLOURS: Readonly<Record<string, string>> = { green: 'darkgreen', red: 'red', yellow: 'orange' }

function dot({ nodes, edges }: Graph): string {
  // Graphviz decodes HTML entities in labels.
  const quoted = (text: string) => `"${text.replace(/["\\]/g, '\\$&').replaceAll('&', '&amp;')}"`
  return [
    'digraph {',
    '  node [shape=box]',
    ...nodes.map((node) => {
      const phase = phaseOf(node.jobNode)
      return `  ${node.id} [label=${quoted(`${titleOf(node)}\n${phase}`)}, color=${DOT_COLOURS[colourOf(phase)] ?? 'black'}]`
    }),
    ...nodes.flatMap(({ id, parent }) =>
      parent === undefined ? [] : [`  ${parent} -> ${id} [style=dotted, dir=none]`],
    ),
    ...edges.map(({ from, to, data, inCycle }) => {
      const label = data.length === 0 ? '' : `label=${quoted(singleLine(data.join(', '), 200))}`
      const marks = [label, inCycle ? 'color=red' : ''].filter((mark) => mark !== '')
      return `  ${from} -> ${to}${marks.length === 0 ? '' : ` [${marks.join(', ')}]`}`
    }),
    '}',
  ]
    .map((line) => `${line}\n`)
    .join('')
}

/** The graph as JSON. */
function dataOf({ nodes, edges, cycles }: Graph): object {
  return {
    nodes: nodes.map(({ id, jobNode: { object, job }, parent, alias, missing }) => ({
      id,
      parent: parent ?? null,
      group: object.group,
      kind: object.kind,
      namespace: object.namespace,
      name: object.name,
      uid: object.uid,
      alias: alias ?? null,
      phase: phaseOf({ object, job }),
      missing,
    })),
    edges,
    cycles,
  }
}

// SVG is rendered by Graphviz compiled to WebAssembly, a module of one megabyte, so it is loaded only when needed.
//
// V1. The SVG is self-contained: it has no scripts, links or references to files or addresses.
// V2. Labels are data: DOT, HTML and XML syntax in them is shown as text.

/** @param dot text of `graphText`, which escapes labels for Graphviz; Graphviz escapes them for XML (V2). */
export async function svgText(dot: string): Promise<string> {
  const { instance } = await import('@viz-js/viz')
  const drawn = (await instance()).renderString(dot, {
    format: 'svg',
    graphAttributes: { bgcolor: 'white' },
    nodeAttributes: { fontname: FONT, fontsize: 11 },
    edgeAttributes: { fontname: FONT, fontsize: 10 },
  })
  // A viewer without Courier uses another monospace font of the same width. Quotation marks in texts are escaped, so
  // only attributes match.
  const widely = drawn.replaceAll(`font-family="${FONT}"`, `font-family="${FONT},monospace"`)
  // Removes the document type, whose address an XML reader might load (V1).
  return `${widely.slice(widely.indexOf('<svg')).trimEnd()}\n`
}

/** Graphviz knows the width of this font, so texts fit into their boxes. */
const FONT = 'Courier'
