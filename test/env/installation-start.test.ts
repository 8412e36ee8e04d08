// The start of an Installation's job in its first pass: two writes, between which other clients may write. Against an API server that the test
// controls, and a real journal. Source: docs/concepts/architecture.md "A root's new job".

import { describe, expect, inject, it } from 'vitest'

import { startActivities } from '../../activities/landscaper/installation/start.ts'
import type { KubeObject } from '../../activities/kube/client.ts'
import type { NewJobTarget } from '../../workflows/kit/index.ts'
import { FINALIZER, OPERATION_ANNOTATION } from '../../workflows/landscaper/contract.ts'
import { useWriteStage } from '../activities/kube/write-stage.ts'
import { landscaperDeps } from '../activities/landscaper/landscaper-deps.ts'
import { API } from '../support/cluster/cluster.ts'

const PATH = `/apis/${API}/namespaces/n/installations/shop`
const BY = { workflowID: 'installation/n/shop/u/job', runID: 'run', pass: 1 }
const SUBJECT = { kind: 'Installation', uid: 'u', namespace: 'n', name: 'shop' }
const ASKED = { annotations: { [OPERATION_ANNOTATION]: 'reconcile' } }
const INTERRUPTED = { annotations: { [OPERATION_ANNOTATION]: 'interrupt' } }
const IDLE = { phase: 'Succeeded', jobID: 'before', jobIDFinished: 'before', observedGeneration: 1 }

const stage = useWriteStage(inject('servers').databaseUrl)
const put = (metadata: object, status: object, spec: object = {}): KubeObject => {
  const root = { name: 'shop', namespace: 'n', uid: 'u', generation: 1, ...metadata }
  return stage().api.put(PATH, { apiVersion: API, kind: 'Installation', metadata: root, spec, status })
}
const start = async (asked?: NewJobTarget) =>
  await startActivities(landscaperDeps(stage().deps)).startInstallation({
    by: BY,
    subject: SUBJECT,
    jobID: 'job',
    asked,
  })
const writes = () => stage().api.requests.filter((request) => request.startsWith('PATCH'))
const asked = (version: string | undefined, more: Partial<NewJobTarget> = {}): NewJobTarget => ({
  version: version ?? '',
  generation: 1,
  deleting: false,
  jobID: 'before',
  ...more,
})
// Of Executions the journal of this test knows none, and not that it knows all.
const reads = () => stage().api.requests.filter((request) => request.startsWith('GET installations'))
const now = () => stage().api.objects.get(PATH)

describe('an installation that requests a job', () => {
  it.each([
    ['with a read', false],
    ['without a read when the run knows its version', true],
  ])(
    'gets the job in two writes: the status, then the finalizer, the defaults and the removal of the request, %s',
    async (_, knows) => {
      const { resourceVersion } = put(ASKED, IDLE).metadata
      const { start: begun, target } = await start(knows ? asked(resourceVersion) : undefined)
      expect(begun).toBe('begun')
      expect(target).toMatchObject({ jobID: 'job', phase: 'Init', finalizers: [FINALIZER], reconcileRequested: false })
      expect(writes()).toEqual(['PATCH shop/status', 'PATCH installations/shop'])
      expect(reads()).toHaveLength(knows ? 0 : 1)
      expect(now()).toMatchObject({ status: { jobID: 'job', phase: 'Init' }, spec: { context: 'default' } })
    },
  )

  it('loses an earlier interrupt request, which a user meant for the previous job', async () => {
    put({ ...INTERRUPTED, deletionTimestamp: '2030-01-01T00:00:00Z', finalizers: [FINALIZER] }, IDLE)
    const target = { jobID: 'job', phase: 'InitDelete', interruptRequested: false }
    expect(await start()).toMatchObject({ start: 'begun', target })
  })

  it('loses the error of the previous job', async () => {
    const lastError = { operation: 'handlePhaseCompleting', reason: 'ExportConflict', message: 'taken' }
    put(ASKED, { ...IDLE, phase: 'Failed', lastError })
    expect((await start()).target).toMatchObject({ jobID: 'job', phase: 'Init' })
    expect((await start()).target?.lastError).toBeUndefined()
  })

  it('gets no finalizer and no default while it is being deleted', async () => {
    const deleting = { deletionTimestamp: '2030-01-01T00:00:00Z', finalizers: ['example.com/other'] }
    put(deleting, IDLE)
    expect(await start()).toMatchObject({ start: 'begun', target: { phase: 'InitDelete' } })
    expect(writes()).toEqual(['PATCH shop/status'])
  })

  it('keeps the job that another run has started meanwhile', async () => {
    const { metadata } = put(ASKED, IDLE)
    stage().api.intercept = ({ method }) => {
      if (method === 'GET') return undefined
      stage().api.intercept = () => undefined
      put(metadata, { ...IDLE, jobID: 'other' })
      return undefined
    }
    expect(await start()).toMatchObject({ start: 'superseded' })
    expect(now()).toMatchObject({ status: { jobID: 'other' } })
  })
})

describe('an installation whose version the run knows from its start', () => {
  it('gets the job with its current spec when a user has edited it since and it still requests a job', async () => {
    const { resourceVersion } = put(ASKED, IDLE).metadata
    put({ ...ASKED, generation: 2 }, IDLE)
    expect(await start(asked(resourceVersion))).toMatchObject({
      start: 'begun',
      target: { jobID: 'job', observedGeneration: 2, reconcileRequested: false },
    })
    expect(reads()).toHaveLength(1)
  })

  it.each([
    ['no longer requests a job', {}, IDLE],
    ['has another job', ASKED, { ...IDLE, jobID: 'other' }],
    ['is a new object of the same name', { ...ASKED, uid: 'another' }, IDLE],
  ])('is unchanged when it %s', async (_, metadata, status) => {
    const { resourceVersion } = put(ASKED, IDLE).metadata
    put(metadata, status)
    expect(await start(asked(resourceVersion))).toMatchObject({ start: 'superseded' })
    expect(now()).toMatchObject({ status })
  })

  it.each([true, false])(
    'is only read when it has the job already, because its annotation may request the next job (known: %s)',
    async (knows) => {
      const { resourceVersion } = put(ASKED, IDLE).metadata
      put(ASKED, { jobID: 'job', phase: 'Init' })
      const seen = await start(knows ? asked(resourceVersion) : undefined)
      expect(seen.start).toBeUndefined()
      expect(seen.target).toMatchObject({ jobID: 'job', reconcileRequested: true })
      expect(now()?.metadata.annotations).toEqual(ASKED.annotations)
      if (!knows) expect(writes()).toEqual([])
    },
  )

  it('keeps an interrupt that comes between the two writes', async () => {
    const { metadata } = put(ASKED, IDLE)
    stage().api.intercept = ({ method, path }) => {
      if (method !== 'PATCH' || path.endsWith('/status')) return undefined
      stage().api.intercept = () => undefined
      put({ ...metadata, ...INTERRUPTED }, now()?.['status'] as object)
      return undefined
    }
    const begun = await start(asked(metadata.resourceVersion))
    expect(begun).toMatchObject({ start: 'begun', target: { jobID: 'job', interruptRequested: true } })
  })

  it('has no target when it is gone', async () => {
    expect(await start(asked('1'))).toMatchObject({ start: 'superseded', target: undefined })
  })
})

describe('an installation', () => {
  it('that requests no job is only read', async () => {
    put({}, IDLE)
    expect(await start()).toMatchObject({ target: { jobID: 'before' } })
    expect(writes()).toEqual([])
  })

  it('that is gone has no target', async () => {
    expect(await start()).toMatchObject({ start: undefined, target: undefined })
  })
})
