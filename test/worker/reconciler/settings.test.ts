import { describe, expect, it } from 'vitest'

import { readConfig } from '../../../worker/server/config.ts'
import { deriveJobID } from '../../../worker/reconciler/resolve-wake.ts'
import { reconcilerSettings } from '../../../worker/reconciler/settings.ts'

const NEEDED = { 'database-url': 'postgresql://db', 'temporal-address': 'localhost:7233' }
const settings = (flags: Readonly<Record<string, string>>, env: Readonly<Record<string, string>> = {}) =>
  reconcilerSettings(flags, readConfig({ HOME: '/home/user', ...env }))

describe('the settings of a worker', () => {
  it('have defaults except for journal and Temporal', () => {
    expect(settings(NEEDED)).toMatchObject({
      databaseUrl: 'postgresql://db',
      temporal: { address: 'localhost:7233', namespace: 'default' },
      kubeconfigPath: undefined,
      taskQueues: ['pawl-2'],
      cluster: 'local',
      healthHost: '127.0.0.1',
      healthPort: 0,
      sweepMs: 60_000,
      wings: ['landscaper'],
      wingFlags: new Map([
        [
          'landscaper',
          { 'pickup-timeout': 300_000, deployers: undefined, 'strict-tenancy': false, 'target-allow': [] },
        ],
      ]),
      dispatcher: { taskQueue: 'pawl-2', cluster: 'local', slots: 12, leaseMs: 10_000, workflowTaskTimeoutMs: 10_000 },
    })
  })

  it('come from the environment unless a flag overrides it', () => {
    const addresses = { PAWL_DATABASE_URL: 'postgresql://env', PAWL_TEMPORAL_ADDRESS: 'env:7233' }
    const env = { ...addresses, KUBECONFIG: '/env', PAWL_PAYLOAD_KEY: 'k' }
    expect(settings({}, env)).toMatchObject({
      payloadKeyPath: 'k',
      databaseUrl: 'postgresql://env',
      temporal: { address: 'env:7233' },
      kubeconfigPath: '/env',
    })
    expect(settings({ ...NEEDED, kubeconfig: '/flag' }, env)).toMatchObject({
      databaseUrl: 'postgresql://db',
      kubeconfigPath: '/flag',
    })
  })

  it('accept a duration or no limit for the wait for deployers', () => {
    const pickup = (text: string) =>
      settings({ ...NEEDED, 'pickup-timeout': text }).wingFlags.get('landscaper')?.['pickup-timeout']
    expect([pickup('1m30s'), pickup('2s'), pickup('none')]).toEqual([90_000, 2000, undefined])
  })

  it('give each controller its own queue if the process runs selected controllers', () => {
    const { taskQueues, dispatcher } = settings({ ...NEEDED, only: 'execution, deploy', 'task-queue': 'q' })
    expect(taskQueues).toEqual(['q-2-execution', 'q-2-deploy'])
    expect(dispatcher).toMatchObject({ taskQueue: 'q-2', controllers: ['execution', 'deploy'] })
    expect(settings(NEEDED).dispatcher.controllers).toBeUndefined()
  })

  it('give each partition its own queue if the process handles selected partitions', () => {
    const some = settings({ ...NEEDED, only: 'installation,deploy', deployers: 'mock' })
    expect(some.taskQueues).toEqual(['pawl-2-installation-mock', 'pawl-2-deploy-mock'])
    const all = settings({ ...NEEDED, deployers: 'mock, landscaper.gardener.cloud/kubernetes-manifest' })
    expect([...all.taskQueues].sort()).toEqual([
      ...['pawl-2-deploy-kubernetes-manifest', 'pawl-2-deploy-mock', 'pawl-2-execution-kubernetes-manifest+mock'],
      'pawl-2-installation-kubernetes-manifest+mock',
      'pawl-2-target',
    ])
    expect(all.dispatcher.controllers).toEqual(['deploy', 'execution', 'installation', 'target'])
  })

  it.each([
    [{ 'temporal-address': 'a' }, '--database-url is missing; expected the URL of a PostgreSQL database'],
    [{ 'database-url': 'a' }, '--temporal-address is missing; expected host:port of a Temporal service'],
    [
      { ...NEEDED, 'payload-key': 'k', 'workflow-bundle': 'b' },
      '--workflow-bundle cannot be combined with --payload-key; remove one of them',
    ],
    [{ ...NEEDED, 'sweep-ms': '99' }, '--sweep-ms: found "99"; expected a whole number of at least 100'],
    [{ ...NEEDED, 'dispatch-slots': 'many' }, '--dispatch-slots: found "many"; expected a whole number of at least 1'],
    [{ ...NEEDED, 'pickup-timeout': '5' }, '--pickup-timeout: found "5"; expected a duration such as 1m30s, or none'],
    [
      { ...NEEDED, only: 'execution,item' },
      '--only: found "item"; expected controllers of deploy, execution, installation',
    ],
    [{ ...NEEDED, only: '' }, '--only: found ""; expected controllers of deploy, execution, installation'],
    [{ ...NEEDED, only: 'deploy,deploy' }, '--only: found "deploy" twice; expected each controller once'],
    [{ ...NEEDED, deployers: 'mock,helm' }, '--deployers: found "helm"; expected types of kubernetes-manifest, mock'],
    [{ ...NEEDED, deployers: '' }, '--deployers: found ""; expected types of kubernetes-manifest, mock'],
    [
      { ...NEEDED, deployers: 'mock,landscaper.gardener.cloud/mock' },
      '--deployers: found "landscaper.gardener.cloud/mock" twice; expected each type once',
    ],
    [
      { ...NEEDED, wings: 'landscaper,chess' },
      '--wings: found "chess"; expected wings of chaos, foundationdb, landscaper, or none',
    ],
    [{ ...NEEDED, wings: '' }, '--wings: found ""; expected wings of chaos, foundationdb, landscaper, or none'],
    [{ ...NEEDED, wings: 'landscaper,landscaper' }, '--wings: found "landscaper" twice; expected each wing once'],
    [{ ...NEEDED, wings: 'none' }, '--wings: found none, so the worker has no controller; add --controllers'],
    [{ ...NEEDED, 'health-port': '1.5' }, '--health-port: found "1.5"; expected a whole number of at least 0'],
  ])('%j are refused with what was expected', (flags, message) => {
    expect(() => settings(flags as unknown as Readonly<Record<string, string>>)).toThrow(message)
  })
})

describe('the settings of a worker with controllers of users', () => {
  const controllers = import.meta.filename

  it('require the content key', () => {
    expect(() => settings({ ...NEEDED, controllers })).toThrow('--content-key is missing; --controllers')
    expect(settings({ ...NEEDED, controllers, 'content-key': 'key' }).controllerFiles).toEqual([controllers])
  })

  it('accept any name in --only until the modules are loaded, and then the known names', () => {
    const flags = { ...NEEDED, controllers, 'content-key': 'key', only: 'shop' }
    expect(settings(flags).taskQueues).toEqual(['pawl-2-shop'])
    expect(() => reconcilerSettings(flags, readConfig({}), { names: ['deploy'], queues: new Map() })).toThrow(
      'expected controllers of deploy',
    )
  })
})

describe('the IDs of a start', () => {
  it('have another lease owner for each start', () => {
    expect(settings(NEEDED).dispatcher.owner).not.toBe(settings(NEEDED).dispatcher.owner)
  })

  it('have a job ID, a UUID of version 5, that is equal only for the same version of the object', () => {
    const object = { uid: '0b7e', resource_version: 7 }
    const id = deriveJobID(object)
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(deriveJobID({ ...object })).toBe(id)
    const others = [deriveJobID({ ...object, resource_version: 8 }), deriveJobID({ ...object, uid: '0b7f' })]
    expect(new Set([id, ...others]).size).toBe(3)
  })
})
