// Runs properties with random values: a few in the short form of the suite, many in the long form (matrix/form.ts). Failures of the past are stored as files
// in `kept/`, and each run tries them first. The short form has the same values in each run: a new value that fails is found by the long form, and does not
// stop an unrelated commit.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import fc from 'fast-check'

import { inParallel } from '../../../activities/kube/in-parallel.ts'
import { isLong, SEED } from '../matrix/form.ts'

const VALUES_SEED = isLong ? SEED : 20_261_123

/** As kept: a failure that was mended, shrunk. */
export interface Kept<Value> {
  /** The bug that the value showed. */
  readonly comment: string
  /** Which property it broke: the name that `holds` has. */
  readonly of: string
  readonly value: Value
}

const KEPT = new URL('kept/', import.meta.url)

/** The failures of former days that a property has to hold for. */
export function keptOf<Value>(of: string): readonly Kept<Value>[] {
  const files = readdirSync(KEPT).filter((name) => name.endsWith('.json'))
  const all = files.sort().map((name) => JSON.parse(readFileSync(new URL(name, KEPT), 'utf8')) as Kept<Value>)
  return all.filter((one) => one.of === of)
}

export interface Tried<Value> {
  /** Of the property. */
  readonly name: string
  readonly values: fc.Arbitrary<Value>
  readonly runs: number
  /** Added to the seed: properties that are tried side by side try different values. */
  readonly lane?: number
  /** How long a failure is made smaller, in milliseconds from the first run on. */
  readonly limitMs?: number
  /** Whether what is kept is tried: of several lanes with the same property, by one. Default true. */
  readonly isFirst?: boolean
}

/**
 * Tries a property with what is kept, then with new values.
 *
 * @throws with the smallest value that it does not hold for, and with the name of a file that has it in the form of those that are kept.
 */
export async function holds<Value>(
  { name, values, runs, lane = 0, limitMs = 60_000, isFirst = true }: Tried<Value>,
  check: (value: Value) => Promise<void>,
): Promise<void> {
  const stored = isFirst ? keptOf<Value>(name) : []
  for (const { comment, value } of stored) {
    await check(value).catch((error: unknown) => {
      throw new Error(`again: ${comment}: ${String(error)}`, { cause: error })
    })
  }
  const deadline = Date.now() + limitMs
  let hasFailed = false
  const inTime = async (value: Value) => {
    // An untried value does not count as a smaller failure.
    if (hasFailed && Date.now() > deadline) return
    await check(value).catch((error: unknown) => {
      hasFailed = true
      throw error
    })
  }
  const details = await fc.check(fc.asyncProperty(values, inTime), { numRuns: runs, seed: VALUES_SEED + lane })
  if (!details.failed) return
  const [value] = details.counterexample ?? []
  throw new Error(
    `${String(details.errorInstance)}\n${write({ comment: 'what it shows', of: name, value }, VALUES_SEED + lane)}`,
    {
      cause: details.errorInstance,
    },
  )
}

/** Does the work for each of the items, some at once. @throws with what went wrong, for all of them. */
export async function forEach<Item>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item, index: number) => Promise<void>,
): Promise<void> {
  const errors: unknown[] = []
  await inParallel([...items.entries()], atOnce, async ([index, item]) => {
    await work(item, index).catch((error: unknown) => errors.push(error))
  })
  if (errors.length > 0) throw new Error(errors.map(String).join('\n\n'))
}

function write(stored: Kept<unknown>, seed: number): string {
  const file = join(tmpdir(), `${stored.of}-${seed}.json`)
  const text = `${JSON.stringify(stored, undefined, 2)}\n`
  writeFileSync(file, text)
  const said = `shrunk to ${file}; once it is mended it belongs into test/support/fuzz/kept/, as ${basename(file)}`
  return `${said}:\n${text.slice(0, 20_000)}`
}
