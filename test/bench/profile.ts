// Where the time goes: CPU profiles of bridge and worker, their threads, and the statements of PostgreSQL, while something is done. Afterwards and apart from what is measured, because looking costs time.

import { setTimeout as sleep } from 'node:timers/promises'

import type { Plan } from './installations.ts'
import { Load, OPERATIONS } from './load.ts'
import { figure, markdownTable } from './markdown.ts'
import { profileText, summarise } from './profile-text.ts'
import { Profiler, type ThreadProfile } from './profiler.ts'
import { WARM_UP } from './rows.ts'
import type { BenchSet } from './servers.ts'
import type { Stage } from './stage.ts'
import { readStatements, resetStatements, statementsText } from './statements.ts'
import { threadSeconds, usedBetween } from './threads.ts'

const PROFILED: Plan = { installations: 100, items: 5, shape: 'wide', deployer: 'mock' }
const PARTS = ['bridge', 'worker'] as const
/** A thread that was busy for less than this is left out. */
const LITTLE_MS = 200

/** What is looked at, once it is warm. */
export interface ProfiledWork {
  /** `100x5 mock, create` */
  readonly title: string
  /** @returns what is to be looked at, which gives what did not complete, and what is to be done when nobody looks any more. */
  readonly open: (stage: Stage) => Promise<{
    readonly run: () => Promise<readonly string[]>
    readonly close: () => Promise<void>
  }>
}

export const CREATION: ProfiledWork = {
  title: '100x5 mock, create',
  async open({ kube, set, options }) {
    const warmUp = await Load.open(kube, WARM_UP, set)
    for (const operation of OPERATIONS) await warmUp.run(operation, options)
    await warmUp.close()
    const load = await Load.open(kube, PROFILED, set)
    return {
      async run() {
        const { missing, failed } = await load.run('create', options)
        return [...missing, ...failed]
      },
      async close() {
        await load.run('delete', options)
        await load.close()
      },
    }
  },
}

/** Profiles the work, at most for so long; sections of the report. */
export async function takeProfiles(
  stage: Stage,
  { title, open }: ProfiledWork,
  limitMs: number,
): Promise<readonly string[]> {
  const { set, say } = stage
  say('profile: warm-up')
  const work = await open(stage)
  try {
    const counted = await resetStatements(set.databaseUrl).then(
      () => true,
      () => false,
    )
    const watched = await Promise.all(PARTS.map((part) => watchPart(set, part)))
    say(`profile: ${title}`)
    const begin = performance.now()
    let wallMs = NaN
    const course = work.run().finally(() => (wallMs = performance.now() - begin))
    await Promise.race([course, sleep(limitMs)])
    const found = await Promise.all(watched.map((end) => end()))
    const statements = counted
      ? statementsText(await readStatements(set.databaseUrl))
      : 'pg_stat_statements is not there.'
    const wrong = await course
    if (wrong.length > 0) throw new Error(`profile: found ${wrong.length} that did not complete, expected none`)
    const head = `## Profile of ${title}\n\nIt took ${figure(wallMs / 1000)} s with the profilers on. What a thread was busy for is by the clock: where\ncores are few, more than its CPU. \`(program)\` is native code, such as Temporal's core;\nthe thread \`v8:ProfEvntProc\` is the profiler's own.`
    return [head, ...found.flat(), `### PostgreSQL: statements by time\n\n${statements}`]
  } finally {
    await work.close()
  }
}

/** Begins to look at a part; the function that is returned ends it and tells what was seen. */
async function watchPart(set: BenchSet, part: string): Promise<() => Promise<readonly string[]>> {
  const pid = set.processes.find(({ name }) => name === part)?.pid
  if (pid === undefined) throw new Error(`profile: the set has no ${part}`)
  const profiler = await Profiler.start(pid, set.logFile(part))
  const before = threadSeconds(pid)
  return async () => {
    const threads = usedBetween(before, threadSeconds(pid)).map(([name, seconds]) => [name, figure(seconds)])
    const profiles = await profiler.stop()
    return [
      `### ${part}: CPU by threads\n\n${markdownTable(['thread', 's'], threads)}`,
      ...profiles.flatMap((one) => section(part, one)),
    ]
  }
}

function section(part: string, { thread, profile }: ThreadProfile): readonly string[] {
  const summary = summarise(profile)
  if (summary.busyMs < LITTLE_MS) return []
  return [`### ${part}, ${thread}: busy for ${figure(summary.busyMs / 1000)} s\n\n${profileText(summary)}`]
}
