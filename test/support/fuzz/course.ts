// Runs properties with random values: a few values in the short form of the suite, many in the long form
// (matrix/form.ts). Previous failures are stored as files in `kept/`, and each run tries them first.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import fc from 'fast-check'

import { inParallel } from '../../../activities/kube/in-parallel.ts'
import { SEED } from '../matrix/form.ts'

/** The content of a file in `kept/`: the shrunk value of a failure that has been fixed. */
interface Kept<Value> {
  /** The bug that the value showed. */
  readonly comment: string
  /** The name of the property that failed, as passed to `holds`. */
  readonly of: string
  readonly value: Value
}

const KEPT = new URL('kept/', import.meta.url)

/** The stored failures of a property. */
function keptOf<Value>(of: string): readonly Kept<Value>[] {
  const files = readdirSync(KEPT).filter((name) => name.endsWith('.json'))
  const all = files.sort().map((name) => JSON.parse(readFileSync(new URL(name, KEPT), 'utf8')) as Kept<Value>)
  return all.filter((one) => one.of === of)
}

interface Tried<Value> {
  /** The name of the property. */
  readonly name: string
  readonly values: fc.Arbitrary<Value>
  readonly runs: number
  /** Added to the seed, so that properties that run in parallel try different values. */
  readonly lane?: number
  /** The time limit for shrinking a failure, in milliseconds from the first run. */
  readonly limitMs?: number
  /** Whether to try the stored failures. If several lanes run the same property, one lane tries them. Default: true. */
  readonly isFirst?: boolean
}

/**
 * Checks a property with the stored failures, then with new values.
 *
 * @throws Error with the smallest failing value and the path of a file that contains it in the format of `kept/`.
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
    // After the time limit, values pass without a check, so that fast-check stops shrinking.
    if (hasFailed && Date.now() > deadline) return
    await check(value).catch((error: unknown) => {
      hasFailed = true
      throw error
    })
  }
  const details = await fc.check(fc.asyncProperty(values, inTime), { numRuns: runs, seed: SEED + lane })
  if (!details.failed) return
  const [value] = details.counterexample ?? []
  throw new Error(
    `${String(details.errorInstance)}\n${write({ comment: 'what it shows', of: name, value }, SEED + lane)}`,
    {
      cause: details.errorInstance,
    },
  )
}

/** Calls `work` for each item, at most `atOnce` at the same time. @throws one Error with the errors of all items. */
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
