// The rows of the load scenario: the number of objects and of items of each (of pods, for Disruptions), and the goal against the reference.

import type { Measurement } from './measure.ts'
import { type Deployer, DEPLOYERS, type Operation, type Plan, type Shape } from './subject.ts'

export interface Row extends Plan {
  /** For example `1x10-chain`. */
  readonly name: string
  /** How many times as fast as the reference this row must be. */
  readonly goal: number | undefined
}

/** The measurements of a row, by operation, one for each run. */
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
const NAMES: Readonly<Record<Deployer, readonly string[]>> = {
  mock: TABLE.map(([name]) => name),
  manifest: ['1x1', '20x5', '100x5'],
  disruption: ['100x500'],
}

/**
 * The rows with these names for each deployer. Undefined: the whole table.
 *
 * @throws when a name is not `NxM`, `NxM-chain` or `NxM-wide`. Without a shape it has the shape of the table: 1x10 is a chain.
 */
export function chooseRows(
  names: readonly string[] | undefined,
  deployers: readonly Deployer[],
  namespaces = 1,
): readonly Row[] {
  return DEPLOYERS.filter((deployer) => deployers.includes(deployer)).flatMap((deployer) =>
    (names ?? NAMES[deployer]).map((name) => ({ ...parseRow(name, deployer), namespaces })),
  )
}

function parseRow(text: string, deployer: Deployer): Row {
  const [, size, objects, items, given] = /^(([1-9]\d*)x([1-9]\d*))(?:-(chain|wide))?$/.exec(text) ?? []
  if (size === undefined)
    throw new Error(`--rows: found ${text}, expected e.g. 20x5 or 1x10-chain: installations x items`)
  const usual: Shape = TABLE.some(([name]) => name === `${size}-chain`) ? 'chain' : 'wide'
  const shape: Shape = given === undefined ? usual : (given as Shape)
  const name = shape === 'wide' && usual === 'wide' ? size : `${size}-${shape}`
  const goal = TABLE.find(([known]) => known === name)?.[1]
  return { name, goal, objects: Number(objects), items: Number(items), shape, deployer }
}

/** The name of the row in the report and in the reference. */
export function keyOfRow({ name, deployer }: Pick<Row, 'name' | 'deployer'>): string {
  return `${name} ${deployer}`
}
