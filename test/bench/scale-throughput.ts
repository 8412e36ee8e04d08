// Part of scale: many Installations at once, and whether the last of them come as fast as the first.

import { setTimeout as sleep } from 'node:timers/promises'

import { titleOf } from './course-of-plan.ts'
import { Follower, keyOf } from './follow.ts'
import type { Plan } from './installations.ts'
import { endOf, Load } from './load.ts'
import { count, figure, markdownTable } from './markdown.ts'
import { measure, type Measurement } from './measure.ts'
import { type PartResult, sized } from './scale-part.ts'
import type { Stage } from './stage.ts'

const INSTALLATIONS = 2000
const NAMESPACES = 20
const TENTHS = 10
/** Of the first tenth. */
const LEAST_SHARE = 0.8
const SETTLE_MS = 500

export async function measureThroughput(stage: Stage): Promise<PartResult> {
  const { kube, set, options, say } = stage
  const installations = sized(INSTALLATIONS, options.scenarioOptions.size, TENTHS)
  const plan: Plan = { installations, items: 5, shape: 'wide', deployer: 'mock', namespaces: NAMESPACES }
  const load = await Load.open(kube, plan, set)
  try {
    const ends = await Ends.open(load)
    const found = await measure(load, 'create', { processes: set.processes, timeoutMs: options.timeoutMs })
    await ends.close()
    say(`scale: ${titleOf(plan)} created in ${figure(found.wallMs / 1000)} s`)
    const result = describe(plan, found, tenthsOf(ends.all))
    await measure(load, 'delete', { processes: set.processes, timeoutMs: options.timeoutMs })
    return result
  } finally {
    await load.close()
  }
}

/** When each Installation of a load succeeded, by a watch of its own. */
class Ends {
  readonly begin = performance.now()
  readonly #follower: Follower
  readonly #byKey = new Map<string, number>()

  private constructor(follower: Follower) {
    this.#follower = follower
    follower.listen((object, isDeleted, at) => {
      const key = keyOf(object.metadata)
      if (this.#byKey.has(key)) return
      if (endOf('create', object, { isDeleted, jobBefore: undefined }) === 'well') this.#byKey.set(key, at - this.begin)
    })
  }

  static async open({ kube, namespaces }: Load): Promise<Ends> {
    return new Ends(await Follower.open(kube, namespaces))
  }

  get all(): readonly number[] {
    return [...this.#byKey.values()]
  }

  async close(): Promise<void> {
    await sleep(SETTLE_MS)
    await this.#follower.close()
  }
}

/**
 * Installations a second in each tenth of all, in the order of their ends. The first begins with the first end, since before it
 * nothing can have been finished, so that the first tenth is not made slow by what is no throughput.
 */
export function tenthsOf(endsMs: readonly number[]): readonly number[] {
  const sorted = [...endsMs].sort((a, b) => a - b)
  const at = (tenth: number) => Math.round((tenth * (sorted.length - 1)) / TENTHS)
  return Array.from({ length: TENTHS }, (_, tenth) => {
    const [from, to] = [at(tenth), at(tenth + 1)]
    return ((to - from) * 1000) / ((sorted[to] ?? NaN) - (sorted[from] ?? NaN))
  })
}

function describe(plan: Plan, found: Measurement, tenths: readonly number[]): PartResult {
  const [first = NaN, last = NaN] = [tenths[0], tenths.at(-1)]
  const share = last / first
  const numbers = tenths.map((_, index) => String(index + 1))
  const text = [
    `${titleOf(plan)} in ${NAMESPACES} namespaces, created in one go: ${figure(found.wallMs / 1000)} s, p50 ${figure(found.p50Ms / 1000)} s, p99 ${figure(found.p99Ms / 1000)} s, ${count(found.requests.writes)} writes, ${count(found.requests.conflicts)} conflicts, ${figure(found.cpuSeconds)} s of CPU. Installations a second, by tenths in the order of their ends:`,
    markdownTable(['tenth', ...numbers], [['per second', ...tenths.map(figure)]]),
  ].join('\n\n')
  const claim = {
    sentence: `the last tenth is done at ${LEAST_SHARE * 100} % of the speed of the first or more`,
    found: `${figure(share * 100)} %`,
    isKept: share >= LEAST_SHARE,
  }
  return { title: 'Many at once', text, claims: [claim] }
}
