// The rows of the table: how many Installations, of how many items, and how much faster than the reference each has to be.

import { type Deployer, DEPLOYERS, type Plan, type Shape } from './installations.ts'
import type { Operation } from './load.ts'
import type { Measurement } from './measure.ts'

export interface Row extends Plan {
  /** E.g. `1x10-chain`; with the deployer it is the key of figures. */
  readonly name: string
  /** How many times as fast as the reference; undefined: no goal was set. */
  readonly goal: number | undefined
}

/** The measurements of a row, each operation once a run. */
export interface RowResult {
  readonly row: Row
  readonly runs: ReadonlyMap<Operation, readonly Measurement[]>
}

const TABLE: readonly (readonly [name: string, goal: number])[] = [
  ['1x1', 1],
  ['1x10-chain', 3],
  ['1x50-chain', 3],
  ['1x100', 3],
  ['20x5', 5],
  ['100x5', 5],
  ['200x1', 5],
]
const OF_MANIFESTS: ReadonlySet<string> = new Set(['1x1', '20x5', '100x5'])

/** Measured first and not counted: code gets compiled, caches and pools get filled. */
export const WARM_UP: Plan = { installations: 20, items: 5, shape: 'wide', deployer: 'mock' }

/**
 * The rows of these names for each deployer; without names, the table.
 *
 * @throws when a name is not `NxM`, `NxM-chain` or `NxM-wide`. Without a shape it is that of the table, e.g. 1x10 is a chain.
 */
export function chooseRows(names: readonly string[] | undefined, deployers: readonly Deployer[]): readonly Row[] {
  return DEPLOYERS.filter((deployer) => deployers.includes(deployer)).flatMap((deployer) =>
    (names ?? TABLE.map(([name]) => name))
      .filter((name) => names !== undefined || deployer === 'mock' || OF_MANIFESTS.has(name))
      .map((name) => parseRow(name, deployer)),
  )
}

function parseRow(text: string, deployer: Deployer): Row {
  const [, size, installations, items, given] = /^(([1-9]\d*)x([1-9]\d*))(?:-(chain|wide))?$/.exec(text) ?? []
  if (size === undefined)
    throw new Error(`--rows: found ${text}, expected e.g. 20x5 or 1x10-chain: installations x items`)
  const usual = TABLE.some(([name]) => name === `${size}-chain`) ? 'chain' : 'wide'
  const shape: Shape = (given ?? usual) === 'chain' ? 'chain' : 'wide'
  const name = shape === 'chain' ? `${size}-chain` : usual === 'wide' ? size : `${size}-wide`
  const goal = TABLE.find(([known]) => known === name)?.[1]
  return { name, goal, installations: Number(installations), items: Number(items), shape, deployer }
}

/** Names the row in figures that are kept. */
export function keyOfRow({ name, deployer }: Pick<Row, 'name' | 'deployer'>): string {
  return `${name} ${deployer}`
}
