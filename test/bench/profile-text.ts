// A CPU profile as text that can be read in a report: where the time of a thread went. Pure.
//
//   T1. Time in which the thread was idle counts for nothing: shares are of the time in which it was busy.

import { markdownTable } from './markdown.ts'

/** As V8 writes it, with what is needed of it. */
export interface CpuProfile {
  readonly nodes: readonly ProfileNode[]
  /** The node that ran at each sample. */
  readonly samples?: readonly number[]
  /** Microseconds before each sample. */
  readonly timeDeltas?: readonly number[]
}

interface ProfileNode {
  readonly id: number
  readonly callFrame: CallFrame
  readonly children?: readonly number[]
}

interface CallFrame {
  readonly functionName: string
  readonly url: string
  readonly lineNumber: number
}

export interface ProfileSummary {
  readonly busyMs: number
  /** Milliseconds, most first. */
  readonly bySource: Ranking
  readonly bySelf: Ranking
  /** Of a function with all that it called. */
  readonly byInclusive: Ranking
}

export type Ranking = readonly (readonly [name: string, ms: number])[]

const IDLE = '(idle)'
const PROJECT = new URL('../../', import.meta.url).href

export function summarise({ nodes, samples = [], timeDeltas = [] }: CpuProfile): ProfileSummary {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)))
  const [bySource, bySelf, byInclusive] = [
    new Map<string, number>(),
    new Map<string, number>(),
    new Map<string, number>(),
  ]
  let busyMs = 0
  for (const [nodeId, ms] of timeOfNodes(samples, timeDeltas)) {
    const node = byId.get(nodeId)
    // T1
    if (node === undefined || node.callFrame.functionName === IDLE) continue
    busyMs += ms
    add(bySource, sourceOf(node.callFrame), ms)
    add(bySelf, nameOf(node.callFrame), ms)
    // A function that calls itself is on the stack more than once.
    const stack = new Set<string>()
    for (let one: ProfileNode | undefined = node; one !== undefined; one = byId.get(parents.get(one.id) ?? NaN))
      stack.add(nameOf(one.callFrame))
    for (const name of stack) if (name !== '(root)') add(byInclusive, name, ms)
  }
  return { busyMs, bySource: ranked(bySource), bySelf: ranked(bySelf), byInclusive: ranked(byInclusive) }
}

const SMALLEST_SHARE = 0.01

/** The first entries of each ranking as tables, as far as they matter. */
export function profileText({ busyMs, bySource, bySelf, byInclusive }: ProfileSummary): string {
  const part = (title: string, ranking: Ranking, length: number) => {
    const rows = ranking
      .filter(([, ms]) => ms >= busyMs * SMALLEST_SHARE)
      .slice(0, length)
      .map(([name, ms]) => [`\`${name}\``, ms.toFixed(0), `${((100 * ms) / busyMs).toFixed(1)}%`])
    return markdownTable([title, 'ms', 'share'], rows)
  }
  return [
    part('by package or file', bySource, 25),
    part('by function', bySelf, 25),
    part('by function, with what it calls', byInclusive, 40),
  ].join('\n\n')
}

function timeOfNodes(samples: readonly number[], deltasUs: readonly number[]): ReadonlyMap<number, number> {
  const times = new Map<number, number>()
  samples.forEach((node, index) => add(times, node, (deltasUs[index] ?? 0) / 1000))
  return times
}

function add<Key>(sums: Map<Key, number>, key: Key, ms: number): void {
  sums.set(key, (sums.get(key) ?? 0) + ms)
}

function ranked(sums: ReadonlyMap<string, number>): Ranking {
  return [...sums].sort(([, a], [, b]) => b - a)
}

/** The package, Node's module, or the file of ours from the project's folder on; V8's own by their name. */
function sourceOf({ url, functionName }: CallFrame): string {
  const [, name] = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url) ?? []
  return name ?? (url === '' ? functionName || '(native)' : shortPath(url))
}

function nameOf({ functionName, url, lineNumber }: CallFrame): string {
  // Functions of WebAssembly have numbers only, which say nothing.
  if (url.startsWith('wasm:')) return shortPath(url)
  const name = functionName === '' ? '(anonymous)' : functionName
  return url === '' ? name : `${name} ${shortPath(url)}:${lineNumber + 1}`
}

/** From the innermost package, or from the project's folder on. */
function shortPath(url: string): string {
  const [, path] = /.*node_modules\/(.*)$/.exec(url) ?? []
  return path ?? (url.startsWith(PROJECT) ? url.slice(PROJECT.length) : url)
}
