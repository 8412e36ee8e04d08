import { describe, expect, it } from 'vitest'

import type { Flow } from '../../../../workflows/kit/index.ts'
import { graphText, svgText } from '../../../../worker/cli/query/draw-graph.ts'
import { graphOf, type SiblingRules } from '../../../../worker/cli/query/graph-model.ts'
import { plainPaint } from '../../../../worker/cli/query/format.ts'
import { job, node, object } from './build-node.ts'

const rules = new Map<string, SiblingRules>([
  ['DeployItem.landscaper.gardener.cloud', { name: ['spec', 'item'], after: ['spec', 'after'] }],
  ['Installation.landscaper.gardener.cloud', { flow: (whole) => (whole as { readonly flow: Flow }).flow }],
])
const item = (name: string, after: string, phase = 'Succeeded') =>
  node(object('DeployItem', `x-${name}`, { spec: { item: name, after } }), { job: job(name, { phase }) })
const part = (name: string) => node(object('Installation', name), { job: job(name, { phase: 'Init' }) })

const tree = node(object('Installation', 'shop', { status: { phase: 'Init' } }), {
  children: [
    node(object('Execution', 'shop', { status: { phase: 'Init' } }), {
      children: [item('db', ''), item('app', 'db, cache', 'Failed'), item('a', 'c'), item('b', 'a'), item('c', 'b,db')],
    }),
    part('left'),
    part('right'),
  ],
})
const live = new Map([
  ['uid-left', { flow: { gives: ['data size'], takes: ['target where'] } }],
  ['uid-right', { flow: { gives: [], takes: ['data size'] } }],
])
const graph = graphOf(tree, rules, live)

describe('the graph of an object', () => {
  it('is a text tree with order, data flow, and data from other objects', () => {
    expect(graphText(graph, 'text', plainPaint).split('\n')).toEqual([
      'cycle: a -> b -> c -> a',
      '',
      'Installation ns/shop  Init',
      '├─ Execution ns/shop  Init',
      '│  ├─ DeployItem ns/x-db (db)  Succeeded',
      '│  ├─ DeployItem ns/x-app (app)  Failed  after db  needs, not in this graph: cache',
      '│  ├─ DeployItem ns/x-a (a)  Succeeded  after c [cycle]',
      '│  ├─ DeployItem ns/x-b (b)  Succeeded  after a [cycle]',
      '│  └─ DeployItem ns/x-c (c)  Succeeded  after b [cycle], db',
      '├─ Installation ns/left  Init  needs, not in this graph: target where',
      '└─ Installation ns/right  Init  after left (data size)',
      '',
    ])
  })

  it('has each edge once in Mermaid and in Graphviz, and cycles in red', () => {
    const mermaid = graphText(graph, 'mermaid', plainPaint)
    expect(mermaid).toMatch(/^flowchart TD\n {2}n0\["Installation ns\/shop Init"\]:::yellow\n/)
    expect(mermaid).toContain('  n7 -->|"data size"| n8\n')
    expect(mermaid).toMatch(/-->\|"cycle"\|/)
    expect(mermaid).toMatch(/ {2}linkStyle (\d+,){2}\d+ stroke:red\n/)
    const dot = graphText(graph, 'dot', plainPaint)
    expect(dot.match(/ -> /g)).toHaveLength(graph.nodes.length - 1 + graph.edges.length)
    expect(dot.match(/\[color=red\]/g)).toHaveLength(3)
  })

  it('is a self-contained SVG with each object and edge, cycles in red, and no references or scripts', async () => {
    const svg = await svgText(graphText(graph, 'dot', plainPaint))
    expect(svg).toMatch(/^<svg [^>]* xmlns="http:\/\/www.w3.org\/2000\/svg"[^]*<\/svg>\n$/)
    expect(svg.match(/<g id="node\d+"/g)).toHaveLength(graph.nodes.length)
    expect(svg.match(/<g id="edge\d+"/g)).toHaveLength(graph.nodes.length - 1 + graph.edges.length)
    expect(svg.match(/<path [^>]*stroke="red"/g)).toHaveLength(3)
    expect(svg).toContain('>DeployItem ns/x&#45;app (app)</text>')
    expect(svg).toContain('>data size</text>')
    expect(addressesIn(svg)).toEqual([])
  })

  it('escapes phases and names of data in SVG', async () => {
    const texts = [
      '</text><script>x()</script>',
      '<img src=x onerror=y>',
      '&lt;b&gt; &amp; &#60;',
      '"] ; n9 [URL="u',
      ']]>\\N',
    ]
    for (const phase of texts) {
      const hostile = node(object('DeployItem', 'x', { status: { phase } }))
      const svg = await svgText(graphText(graphOf(hostile, rules, new Map()), 'dot', plainPaint))
      const [, label = ''] = [...svg.matchAll(/<text [^>]*>([^<]*)<\/text>/g)].map(([, text = '']) => unescaped(text))
      expect(label).toBe(phase)
      expect([...new Set(svg.match(/<\w+/g))].sort()).toEqual(['<g', '<polygon', '<svg', '<text', '<title'])
      expect(addressesIn(svg)).toEqual([])
    }
  })

  it('escapes phases in DOT and Mermaid', () => {
    const hostile = node(object('DeployItem', 'x', { status: { phase: 'a"]\\ --> x;click\u001b[1m' } }))
    const drawn = graphOf(hostile, rules, new Map())
    expect(graphText(drawn, 'mermaid', plainPaint).split('\n')[1]).toMatch(/^ {2}n0\["[\w\s./:()#;-]*"\]:::yellow$/)
    expect(graphText(drawn, 'dot', plainPaint)).toContain('label="DeployItem ns/x\na\\"]\\\\ --> x;click [1m"')
    expect(graphText(drawn, 'text', plainPaint)).not.toContain('\u001b')
  })

  it('has a JSON form', () => {
    const data = JSON.parse(graphText(graph, 'json', plainPaint)) as {
      nodes: object[]
      edges: object[]
      cycles: object[]
    }
    expect(data.nodes).toHaveLength(9)
    expect(data.nodes[3]).toMatchObject({ alias: 'app', phase: 'Failed', missing: ['cache'] })
    expect(data.cycles).toHaveLength(1)
  })
})

/** Everything that a viewer would load, follow or run; namespace names are not addresses. */
function addressesIn(svg: string): readonly string[] {
  const tags = (svg.match(/<[^>]*>/g) ?? []).join('\n').replaceAll(/ xmlns(:\w+)?="[^"]*"/g, '')
  return tags.match(/<(?:script|image|a|style|use|!DOCTYPE)\b|href=|src=| on\w+=|url\(|:\/\//gi) ?? []
}

const ENTITIES = new Map([...Object.entries({ amp: '&', lt: '<', gt: '>', quot: '"' })])

function unescaped(text: string): string {
  return text.replaceAll(/&(#?)(\w+);/g, (whole: string, isNumber: string, name: string) =>
    isNumber === '#' ? String.fromCodePoint(Number(name)) : (ENTITIES.get(name) ?? whole),
  )
}
