import { describe, expect, it } from 'vitest'
import type { Flow } from '../../../../workflows/kit/index.ts'
import { graphText } from '../../../../worker/cli/ask/draw-graph.ts'
import { graphOf, type SiblingRules } from '../../../../worker/cli/ask/graph-model.ts'
import { plain } from '../../../../worker/cli/ask/texts.ts'
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
  it('is drawn as a tree with what goes before, the data that flows, and what comes from elsewhere', () => {
    expect(graphText(graph, 'text', plain).split('\n')).toEqual([
      'Installation ns/shop  Init',
      '├─ Execution ns/shop  Init',
      '│  ├─ DeployItem ns/x-db (db)  Succeeded',
      '│  ├─ DeployItem ns/x-app (app)  Failed  after db  needs from elsewhere: cache',
      '│  ├─ DeployItem ns/x-a (a)  Succeeded  after c [cycle]',
      '│  ├─ DeployItem ns/x-b (b)  Succeeded  after a [cycle]',
      '│  └─ DeployItem ns/x-c (c)  Succeeded  after b [cycle], db',
      '├─ Installation ns/left  Init  needs from elsewhere: target where',
      '└─ Installation ns/right  Init  after left (data size)',
      'cycle: a -> b -> c -> a',
      '',
    ])
  })

  it('is drawn for Mermaid and for Graphviz, each edge once, cycles in red', () => {
    const mermaid = graphText(graph, 'mermaid', plain)
    expect(mermaid).toMatch(/^flowchart TD\n {2}n0\["Installation ns\/shop Init"\]:::yellow\n/)
    expect(mermaid).toContain('  n7 -->|"data size"| n8\n')
    expect(mermaid).toMatch(/-->\|"cycle"\|/)
    expect(mermaid).toMatch(/ {2}linkStyle (\d+,){2}\d+ stroke:red\n/)
    const dot = graphText(graph, 'dot', plain)
    expect(dot.match(/ -> /g)).toHaveLength(graph.nodes.length - 1 + graph.edges.length)
    expect(dot.match(/\[color=red\]/g)).toHaveLength(3)
  })

  it('lets nobody who writes a phase write a drawing', () => {
    const hostile = node(object('DeployItem', 'x', { status: { phase: 'a"]\\ --> x;click\u001b[1m' } }))
    const drawn = graphOf(hostile, rules, new Map())
    expect(graphText(drawn, 'mermaid', plain).split('\n')[1]).toMatch(/^ {2}n0\["[\w\s./:()#;-]*"\]:::yellow$/)
    expect(graphText(drawn, 'dot', plain)).toContain('label="DeployItem ns/x\na\\"]\\\\ --> x;click [1m"')
    expect(graphText(drawn, 'text', plain)).not.toContain('\u001b')
  })

  it('is data for programs', () => {
    const data = JSON.parse(graphText(graph, 'json', plain)) as { nodes: object[]; edges: object[]; cycles: object[] }
    expect(data.nodes).toHaveLength(9)
    expect(data.nodes[3]).toMatchObject({ alias: 'app', phase: 'Failed', missing: ['cache'] })
    expect(data.cycles).toHaveLength(1)
  })
})
