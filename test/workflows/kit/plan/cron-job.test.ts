// The RFC's CronJob example without its two mistakes: a status update that never runs, and an inverted condition. Source: seeds/ctrlkit-rfc.txt.

import { describe, expect, it } from 'vitest'

import {
  action,
  again,
  always,
  describe as drawn,
  done,
  fail,
  join,
  joinOutcomes,
  type Outcome,
  retryLater,
  runStep,
  when,
} from '../../../../workflows/kit/index.ts'
import { fakeRuntime } from './fake-runtime.ts'

interface CronJobPass {
  readonly suspend: boolean | undefined
  readonly reports: Readonly<Record<string, Outcome>>
  readonly ran: string[]
}

const step = (name: string) =>
  action<CronJobPass>(name, ({ reports, ran }) => {
    ran.push(name)
    return reports[name] ?? done
  })
const isNotSuspended = ({ suspend }: CronJobPass) => suspend !== true
const plan = always(
  join(step('listActiveJobs'), step('cleanUpOldJobs'), when(isNotSuspended, step('runNextScheduledJob'))),
  step('updateCronJobStatus'),
)
const ALL = ['listActiveJobs', 'cleanUpOldJobs', 'runNextScheduledJob', 'updateCronJobStatus']

describe('the CronJob of the RFC', () => {
  it.each([undefined, false])('runs its next job when suspend is %s', async (suspend) => {
    expect((await run({ suspend })).ran).toEqual(ALL)
  })

  it('runs no job while it is suspended, but all other steps', async () => {
    expect((await run({ suspend: true })).ran).toEqual(ALL.filter((name) => name !== 'runNextScheduledJob'))
  })

  it('waits until the next job is due', async () => {
    expect((await run({ reports: { runNextScheduledJob: again(60_000) } })).outcome).toEqual(again(60_000))
  })

  it('updates its status after any outcome of the other steps, and keeps all faults', async () => {
    const reports = {
      listActiveJobs: fail('Broken', 'x'),
      cleanUpOldJobs: again(5),
      updateCronJobStatus: retryLater('Away', 'y'),
    }
    const { outcome, ran } = await run({ reports })
    expect(ran).toEqual(ALL)
    expect(outcome).toEqual(joinOutcomes(...Object.values(reports)))
  })

  it('is drawn as its plan is written', () => {
    expect(drawn(plan).split('\n')).toEqual([
      'always',
      '├─ join',
      '│  ├─ listActiveJobs',
      '│  ├─ cleanUpOldJobs',
      '│  └─ when isNotSuspended',
      '│     └─ runNextScheduledJob',
      '└─ updateCronJobStatus',
    ])
  })
})

async function run({ suspend, reports = {} }: Partial<Pick<CronJobPass, 'suspend' | 'reports'>>) {
  const pass: CronJobPass = { suspend, reports, ran: [] }
  return { outcome: await runStep(plan, pass, fakeRuntime()), ran: pass.ran }
}
