// What the answer to a write of a deploy item adds to the metrics.

import { describe, expect, it } from 'vitest'

import { storedAs } from '../../../../../activities/kube/object-views.ts'
import { countEnd } from '../../../../../activities/landscaper/deploy/run/item-write.ts'
import { Metrics } from '../../../../../activities/run/metrics.ts'
import { RunMetrics } from '../../../../../activities/run/run-metrics.ts'
import { deployItemKind } from '../../../../../workflows/landscaper/deploy-item/kind.ts'
import { type By, WORKER_METRICS } from '../../../../../workflows/kit/index.ts'

const NOW = new Date('2030-01-01T00:10:00Z')
const HOST = 'installation/team-a/shop/uid-1/job'
const OWN = 'deploy/team-a/shop-web/uid-2/job'

describe('the job of a deploy item', () => {
  it.each([
    ['its host has ended it', ended('Failed'), ['Failed']],
    ['it ends with the deletion of the item', deleted([]), ['Deleted']],
  ])('is counted if %s', async (_, item, outcomes) => {
    expect(await counted({}, item)).toEqual(outcomes)
  })

  it.each([
    ['it continues', HOST, { status: { jobID: 'job', phase: 'Progressing' } }],
    ['another finalizer keeps its item', HOST, deleted(['example.org/keep'])],
    ['an interrupt has ended it before this write', HOST, ended('Failed', 'example.org/any', new Date(0))],
    ['it has its own run, whose end is counted', OWN, ended('Succeeded')],
  ])('is not counted if %s', async (_, workflowID, item) => {
    expect(await counted({ workflowID }, item)).toEqual([])
  })

  it('is not counted by a host that leaves the type to other workers', async () => {
    const type = 'landscaper.gardener.cloud/mock'
    expect(await counted({ workflowID: HOST, serves: ['other'] }, ended('Failed', type))).toEqual([])
    expect(await counted({ workflowID: HOST, serves: [type] }, ended('Failed', type))).toEqual(['Failed'])
  })
})

function ended(phase: string, type = 'example.org/any', finished = NOW): Item {
  const transitionTimes = { finishedTime: finished.toISOString() }
  return { spec: { type }, status: { jobID: 'job', jobIDFinished: 'job', phase, transitionTimes } }
}

function deleted(finalizers: readonly string[]): Item {
  return { metadata: { deletionTimestamp: NOW.toISOString(), finalizers }, status: { jobID: 'job' } }
}

interface Item {
  readonly metadata?: object
  readonly spec?: object
  readonly status?: object
}

async function counted(by: Partial<By>, { metadata = {}, ...rest }: Item) {
  const metrics = new Metrics({ now: () => NOW, failed: (error) => expect(error).toBeUndefined() })
  metrics.declare(WORKER_METRICS)
  const deps = { runMetrics: new RunMetrics(metrics, () => NOW) }
  const object = storedAs(deployItemKind, {
    metadata: { name: 'shop-web', namespace: 'team-a', uid: 'uid-2', ...metadata },
    spec: { type: 'example.org/any' },
    ...rest,
  })
  countEnd(deps, { by: { workflowID: HOST, runID: 'run', pass: 1, ...by }, jobID: 'job', now: NOW }, object)
  const text = await metrics.text()
  return [...text.matchAll(/^pawl_jobs_total\{controller="deploy",outcome="(\w+)"\} 1$/gm)].map(
    ([, outcome]) => outcome,
  )
}
