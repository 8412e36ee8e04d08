// Races of the writes of the engine: against an API server that the test controls, and a real journal.

import { describe, expect, inject, it } from 'vitest'

import type { KubeObject } from '../../activities/kube/client.ts'
import { type Write, writeAll } from '../../activities/kube/write.ts'
import { refusal } from '../activities/kube/tiny-api.ts'
import { at, execution, PATH, phase, useExecutionStage, WRITER } from './execution-stage.ts'

const stage = useExecutionStage(inject('servers').databaseUrl)
const { statusOf, actions, events, race } = stage

describe('a patch', () => {
  const patchStatus = (version: string, reapply: (Write & { verb: 'patchStatus' })['reapply']): Write => ({
    verb: 'patchStatus',
    ...at,
    version,
    patch: phase('ours'),
    reapply,
  })

  it('applies to the observed version, and the journal records it as a write of the run', async () => {
    const { metadata } = stage.api.put(PATH, execution())
    const [answer] = await writeAll(stage.deps, WRITER, [
      patchStatus(metadata.resourceVersion ?? '', () => 'superseded'),
    ])
    expect(answer).toMatchObject({ result: 'ok', wrote: true, conflicted: false, object: phase('ours') })
    expect(await events()).toEqual([{ type: 'MODIFIED', source: 'write', writer: WRITER.workflowID }])
    expect(await actions()).toEqual([{ verb: 'patchStatus', resource_version: 102, error: null }])
  })

  it('is applied again to the newer version after a conflict', async () => {
    const { metadata } = stage.api.put(PATH, execution())
    race(execution({ other: 1 }))
    const [answer] = await writeAll(stage.deps, WRITER, [
      patchStatus(metadata.resourceVersion ?? '', () => phase('again')),
    ])
    expect(answer).toMatchObject({ result: 'ok', wrote: true, conflicted: true })
    expect(statusOf()).toEqual({ other: 1, phase: 'again' })
    expect(stage.api.requests).toEqual(['PATCH exec/status', 'GET executions/exec', 'PATCH exec/status'])
  })

  it.each([
    ['done', { result: 'ok', wrote: false, conflicted: true }],
    ['superseded', { result: 'superseded' }],
  ] as const)('writes nothing more after a conflict if its reapply function returns %s', async (verdict, expected) => {
    const { metadata } = stage.api.put(PATH, execution())
    race(execution({ phase: 'theirs' }))
    const [answer] = await writeAll(stage.deps, WRITER, [patchStatus(metadata.resourceVersion ?? '', () => verdict)])
    expect(answer).toMatchObject(expected)
    expect(statusOf()).toEqual({ phase: 'theirs' })
    const message = 'the object has changed, and the patch no longer applies'
    const error = verdict === 'done' ? null : { reason: 'Superseded', message }
    expect(await actions()).toMatchObject([{ verb: 'patchStatus', error }])
  })

  it('fails after repeated conflicts, and reports an object that does not exist as gone', async () => {
    stage.api.intercept = ({ method }) => (method === 'PATCH' ? refusal(409, 'Conflict') : undefined)
    stage.api.put(PATH, execution())
    const [conflicted] = await writeAll(stage.deps, WRITER, [patchStatus('1', () => phase('again'))])
    expect(conflicted).toMatchObject({ result: 'failed', error: { reason: 'Conflict' } })
    expect(await actions()).toMatchObject([{ resource_version: null, error: { reason: 'Conflict' } }])
    stage.api.objects.clear()
    stage.api.intercept = () => undefined
    expect(await writeAll(stage.deps, WRITER, [patchStatus('1', () => phase('again'))])).toEqual([{ result: 'gone' }])
  })

  it('that fails does not stop the other writes of the batch', async () => {
    stage.api.put(PATH, execution())
    const other = { ...patchStatus('', () => 'superseded'), name: 'refused' } as Write
    stage.api.intercept = ({ path }) => (path.includes('refused') ? refusal(422, 'Invalid') : undefined)
    const { metadata } = stage.api.objects.get(PATH) as KubeObject
    const answers = await writeAll(stage.deps, WRITER, [
      other,
      patchStatus(metadata.resourceVersion ?? '', () => 'superseded'),
    ])
    expect(answers).toMatchObject([{ result: 'failed', error: { reason: 'Invalid' } }, { result: 'ok' }])
  })
})

describe('a creation', () => {
  const create = (isOurs: boolean): Write => ({ verb: 'create', ...at, body: execution(), isOurs: () => isOurs })

  it('is journaled as the first event of the object', async () => {
    expect(await writeAll(stage.deps, WRITER, [create(true)])).toMatchObject([{ result: 'ok', wrote: true }])
    expect(await events()).toEqual([{ type: 'ADDED', source: 'write', writer: WRITER.workflowID }])
  })

  it('that is repeated after a crash finds the object that it created', async () => {
    await writeAll(stage.deps, WRITER, [create(true)])
    expect(await writeAll(stage.deps, WRITER, [create(true)])).toMatchObject([{ result: 'ok', wrote: false }])
    expect((await actions()).length).toBe(1)
  })

  it('does not take over an object of another writer', async () => {
    stage.api.put(PATH, execution({ phase: 'theirs' }))
    expect(await writeAll(stage.deps, WRITER, [create(false)])).toMatchObject([{ result: 'superseded' }])
    expect(statusOf()).toEqual({ phase: 'theirs' })
    expect(await actions()).toMatchObject([{ verb: 'create', error: { message: 'another object has this name' } }])
  })
})

describe('a deletion', () => {
  const remove = (uid = 'uid-exec', version?: string): Write => ({ verb: 'delete', ...at, uid, version })

  it('reports an object that does not exist as gone', async () => {
    expect(await writeAll(stage.deps, WRITER, [remove()])).toEqual([{ result: 'gone' }])
  })

  it('reads the object again after a conflict, and deletes the newer version', async () => {
    const { metadata } = stage.api.put(PATH, execution())
    race(execution({ phase: 'newer' }))
    const answers = await writeAll(stage.deps, WRITER, [remove('uid-exec', metadata.resourceVersion)])
    expect(answers).toMatchObject([{ result: 'ok', conflicted: true }])
    expect(stage.api.objects.size).toBe(0)
  })

  it('deletes nothing after a conflict if its isMeant function rejects the newer version', async () => {
    const { metadata } = stage.api.put(PATH, execution())
    race(execution({ phase: 'newer' }))
    const write = { ...remove('uid-exec', metadata.resourceVersion), isMeant: () => false } as Write
    expect(await writeAll(stage.deps, WRITER, [write])).toMatchObject([{ result: 'superseded' }])
    expect(stage.api.objects.size).toBe(1)
    const message = 'the object has changed since the deletion was decided'
    expect(await actions()).toMatchObject([{ verb: 'delete', error: { message } }])
  })

  it('S6: does not delete another object of the same name', async () => {
    stage.api.put(PATH, execution({}, { uid: 'another' }))
    expect(await writeAll(stage.deps, WRITER, [remove()])).toEqual([{ result: 'gone' }])
    expect(stage.api.objects.size).toBe(1)
  })

  it('is not repeated for an object that already has a deletionTimestamp', async () => {
    const { metadata } = stage.api.put(PATH, execution())
    race(execution({}, { deletionTimestamp: '2029-01-01T00:00:00Z', finalizers: ['held'] }))
    const answers = await writeAll(stage.deps, WRITER, [remove('uid-exec', metadata.resourceVersion)])
    expect(answers).toMatchObject([{ result: 'ok', wrote: false }])
  })
})

describe('a batch of many writes', () => {
  const objects = Array.from({ length: 140 }, (_, index) => `exec-${index}`)
  const created = objects.map((name): Write => ({
    ...at,
    verb: 'create',
    name,
    body: { ...execution({}, { name }) },
    isOurs: () => true,
  }))

  /** How many writes were begun together, on a clock on which each request takes so long. */
  async function batches(requestMs: number): Promise<readonly number[]> {
    let ms = Date.parse('2030-01-01T00:00:00Z')
    stage.api.intercept = () => {
      ms += requestMs
      return undefined
    }
    const answers = await writeAll({ ...stage.deps, now: () => new Date(ms) }, WRITER, created)
    expect(answers.filter(({ result }) => result === 'ok')).toHaveLength(objects.length)
    await stage.deps.journal.flushAll()
    const begun = stage.db.selectFrom('action').select(({ fn }) => fn.countAll().as('count'))
    return (await begun.groupBy('started_at').orderBy('started_at').execute()).map(({ count }) => Number(count))
  }

  it.each([
    ['as large as allowed if writes are fast', 1, [20, 100, 20]],
    ['limited to the writes that finish before the bridge stops waiting', 10, [20, 30, 30, 30, 30]],
    ['split into parts of at least 10 writes if writes are slow', 1000, [20, ...Array.from({ length: 12 }, () => 10)]],
  ])('is %s', async (_, requestMs, sizes) => {
    expect(await batches(requestMs)).toEqual(sizes)
  })
})
