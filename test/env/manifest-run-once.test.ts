// Objects that run once, and readiness after a change, on a real cluster: the garbage collector and the TTL controller
// delete completed objects.

import { describe, expect, inject, it } from 'vitest'

import { useTargetStage } from '../activities/landscaper/deploy/manifest/target-stage.ts'
import { customKind } from '../activities/landscaper/deploy/manifest/ordinary-objects.ts'

const stage = useTargetStage(inject('servers').kubeconfigPath, 'manifest-run-once')
const JOBS = `/apis/batch/v1/namespaces/${stage.namespace}/jobs`
const PODS = `/api/v1/namespaces/${stage.namespace}/pods`

const CONTAINER = { name: 'main', image: 'example/app:1' }
const NOWHERE = { nodeSelector: { nowhere: 'true' }, containers: [CONTAINER] }
const metadata = (name: string) => ({ name, namespace: stage.namespace })
const object = (apiVersion: string, kind: string, name: string, spec: object) => ({
  apiVersion,
  kind,
  metadata: metadata(name),
  spec,
})
const pod = (name: string, restartPolicy: string) => object('v1', 'Pod', name, { ...NOWHERE, restartPolicy })
const job = (name: string) => {
  const template = { spec: { ...NOWHERE, restartPolicy: 'Never' } }
  return object('batch/v1', 'Job', name, { suspend: true, ttlSecondsAfterFinished: 0, template })
}
const waiting = (name: string) => {
  const labels = { app: name }
  const spec = { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: NOWHERE } }
  return object('apps/v1', 'Deployment', name, spec)
}
const creates = (path: string) => stage.kube.writes.filter((one) => one.method === 'POST' && one.path === path).length
const remove = (path: string) => stage.kube.request('DELETE', path, { body: { gracePeriodSeconds: 0 } })
const gone = (path: string) => expect.poll(() => stage.get(path), { timeout: 20_000 }).toBeUndefined()

/** Completes the Job through its status, without pods. Afterwards the TTL controller deletes the Job. */
async function finish(name: string): Promise<void> {
  const now = new Date().toISOString()
  const condition = (type: string) => ({ type, status: 'True', lastTransitionTime: now })
  await stage.patch(`${JOBS}/${name}`, { spec: { suspend: false } })
  await expect.poll(async () => started(await stage.get(`${JOBS}/${name}`)), { timeout: 20_000 }).toBeDefined()
  const conditions = ['SuccessCriteriaMet', 'Complete'].map(condition)
  const done = { conditions, completionTime: now, succeeded: 1, active: 0, ready: 0, terminating: 0 }
  const status = { ...done, uncountedTerminatedPods: null }
  await stage.patch(`${JOBS}/${name}/status`, { status })
}

/** Like `customKind`, with a status that accepts any fields. */
function kindWithStatus(plural: string, kind: string) {
  const { definition, resource } = customKind(plural, kind)
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
  const versions = definition.spec.versions.map((one) => ({ ...one, schema, subresources: { status: {} } }))
  return { definition: { ...definition, spec: { ...definition.spec, versions } }, resource }
}

const started = (live: object | undefined) =>
  (live as { status?: { startTime?: string } } | undefined)?.status?.startTime

describe('an object that runs once', () => {
  it('is created once in a job, also when its worker begins again while the item waits', async () => {
    const objects = [job('migration'), pod('task', 'Never'), waiting('slow')]
    const item = stage.item('once').configure(objects)
    expect(await item.step('install')).toMatchObject({ result: 'waiting' })
    await finish('migration')
    await remove(`${PODS}/task`)
    await gone(`${JOBS}/migration`)
    await gone(`${PODS}/task`)
    // A restarted worker repeats the install of the same job; later checks continue from there.
    for (const act of ['check', 'install', 'check'] as const)
      expect(await item.step(act)).toMatchObject({ waitingFor: expect.stringContaining('slow') as string })
    expect([creates(JOBS), creates(PODS)]).toEqual([1, 1])
    expect(item.managed).toEqual(['migration', 'slow', 'task'])
    item.configure(objects.slice(0, 2))
    expect(await item.step('check')).toMatchObject({ result: 'done' })
    item.jobID = 'next'
    await item.step('install')
    expect([creates(JOBS), creates(PODS)]).toEqual([2, 2])
    await item.uninstall()
    await gone(`${JOBS}/migration`)
  })

  it('by recreate: never is created by no further job, by recreate: always by each look', async () => {
    const entries = [
      { manifest: pod('never', 'Never'), recreate: 'never' },
      { manifest: pod('always', 'Never'), recreate: 'always' },
    ]
    const item = stage.item('recreated').configure([...entries, waiting('slow-too')])
    await item.step('install')
    await remove(`${PODS}/never`)
    await remove(`${PODS}/always`)
    await item.step('check')
    item.jobID = 'next'
    await item.step('install')
    expect(await stage.get(`${PODS}/never`)).toBeUndefined()
    expect(await stage.get(`${PODS}/always`)).toBeDefined()
    await item.uninstall()
  })

  it('keeps the custom checks that it satisfied before it was removed', async () => {
    const check = (name: string) => ({
      name,
      resourceSelector: [{ apiVersion: 'v1', kind: 'Pod', ...metadata(name) }],
      requirements: [{ jsonPath: '.metadata.annotations.done', operator: '==', values: [{ value: 'yes' }] }],
    })
    const checks = { readinessChecks: { disableDefault: true, custom: [check('quick'), check('failed')] } }
    const item = stage.item('checked').configure([pod('quick', 'Never'), pod('failed', 'Never')], checks)
    await item.step('install')
    await stage.patch(`${PODS}/quick`, { metadata: { annotations: { done: 'yes' } } })
    await item.step('check')
    await remove(`${PODS}/quick`)
    expect(await item.step('check')).toMatchObject({ waitingFor: expect.stringContaining('check "failed"') as string })
    await remove(`${PODS}/failed`)
    const waitingFor = `check "failed": Pod "${stage.namespace}/failed" was deleted before it satisfied the check, and this job does not create it again`
    expect(await item.step('check')).toMatchObject({ waitingFor })
    await item.uninstall()
  })

  it('is any object that a look has seen completed; an object that a user deletes is sent again', async () => {
    const { definition, resource } = kindWithStatus('tasks', 'Task')
    const owner = stage.item('task-owner').configure([definition])
    await owner.reconcile()
    const item = stage.item('tasks').configure([resource('ended', {}), resource('open', {}), waiting('slow-tasks')])
    const isSent = async () => (await item.step('install')).result === 'waiting'
    await expect.poll(isSent, { timeout: 30_000 }).toBe(true)
    await stage.patch('/apis/tasks.example/v1/tasks/ended/status', { status: { completionTime: 'now' } })
    await item.step('check')
    await remove('/apis/tasks.example/v1/tasks/ended')
    await remove('/apis/tasks.example/v1/tasks/open')
    await item.step('check')
    expect(await stage.get('/apis/tasks.example/v1/tasks/ended')).toBeUndefined()
    expect(await stage.get('/apis/tasks.example/v1/tasks/open')).toBeDefined()
    await item.uninstall()
    await owner.uninstall()
  })
})

describe('a custom readiness check', () => {
  const ENGINES = '/apis/engines.example/v1/engines'
  const isReady = {
    name: 'ready',
    resourceSelector: [{ apiVersion: 'engines.example/v1', kind: 'Engine', name: 'e' }],
    requirements: [{ jsonPath: '.status.phase', operator: '==', values: [{ value: 'Ready' }] }],
  }

  it('is not satisfied by the status of the generation before', async () => {
    const { definition, resource } = kindWithStatus('engines', 'Engine')
    const owner = stage.item('engine-owner').configure([definition])
    await owner.reconcile()
    const checks = { readinessChecks: { custom: [isReady] } }
    const item = stage.item('engines').configure([resource('e', { power: 1 })], checks)
    const report = (status: object) => stage.patch(`${ENGINES}/e/status`, { status })
    const isSent = async () => (await item.step('install')).result === 'waiting'
    await expect.poll(isSent, { timeout: 30_000 }).toBe(true)
    await report({ phase: 'Ready', observedGeneration: 1 })
    expect(await item.step('check')).toMatchObject({ result: 'done' })

    item.configure([resource('e', { power: 2 })], checks)
    const unseen = { waitingFor: expect.stringContaining('its controller has not observed the latest spec') as string }
    expect(await item.step('install')).toMatchObject(unseen)
    expect(await item.step('check')).toMatchObject(unseen)
    const { generation } = (await stage.get(`${ENGINES}/e`))?.metadata ?? {}
    await report({ observedGeneration: generation })
    expect(await item.step('check')).toMatchObject({ result: 'done' })

    // A status without observedGeneration counts from the first check after the write.
    await report({ observedGeneration: null })
    item.configure([resource('e', { power: 3 })], checks)
    expect(await item.step('install')).toMatchObject({ waitingFor: expect.stringContaining('a moment ago') as string })
    expect(await item.step('check')).toMatchObject({ result: 'done' })
    await item.uninstall()
    await owner.uninstall()
  })
})
