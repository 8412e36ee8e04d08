import { describe, expect, it } from 'vitest'

import {
  action,
  activitiesOf,
  again,
  always,
  defineLevel,
  done,
  join,
  type LevelPass,
  type ObjectMeta,
  retry,
  sequential,
  stop,
  timeout,
} from '../../../../workflows/kit/index.ts'
import { describeTrace, runPass, stored } from '../../../../workflows/kit/testing/index.ts'

interface Shop {
  readonly apiVersion: string
  readonly kind: 'Shop'
  readonly metadata: ObjectMeta
  readonly spec: { readonly color: string }
  readonly status?: { readonly color?: string; readonly maps?: number }
}
interface ConfigMap {
  readonly apiVersion: 'v1'
  readonly kind: 'ConfigMap'
  readonly metadata: ObjectMeta
  readonly data?: Readonly<Record<string, string>>
}
interface State {
  readonly own: ConfigMap | undefined
  readonly all: readonly ConfigMap[]
}
type Pass = LevelPass<State, Shop>

const applyMap = action<Pass>('applyMap', async ({ target, act, status }) => {
  const { color } = target.spec
  const metadata = { name: target.metadata.name, labels: { shop: 'one' } }
  await act.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { color } })
  status['color'] = color
  return done
})
const count = action<Pass>('count', async (pass) => {
  pass.status['maps'] = (await pass.refresh('all')).length
  return done
})
const removeMap = action<Pass>('removeMap', async ({ state: { own }, act }) => {
  if (own === undefined) return done
  await act.remove(own)
  return stop('waits for the ConfigMap to go')
})

const FINALIZER = 'example.com/shop'
type WithName = { readonly metadata: { readonly name: string } }
const shop = (plan = sequential(applyMap, count)) =>
  defineLevel<State, Shop>({
    name: 'shop',
    target: { apiVersion: 'example.com/v1', kind: 'Shop', plural: 'shops' },
    queries: {
      own: { kind: 'v1/ConfigMap', name: '${target.metadata.name}', owned: true },
      all: { kind: 'v1/ConfigMap', many: true, labels: { shop: '${target.metadata.name}' } },
    },
    plan,
    finalizer: FINALIZER,
    onDelete: removeMap,
  })
const red = { spec: { color: 'red' } }
const mapOf = (color: string, metadata: Partial<ObjectMeta> = {}) =>
  stored<ConfigMap>({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { color } })
const forbidden = { code: 'Forbidden', message: 'no', retryable: true }

describe('a pass in a test', () => {
  it('returns the writes, the status, and the input of the next pass', async () => {
    const course = await runPass(shop(), { target: red })
    expect(course).toMatchObject({
      outcome: done,
      ended: 'Converged',
      written: ['apply ConfigMap one'],
      events: [],
      finalizer: 'put on',
      status: { color: 'red', maps: 1 },
      next: { target: { metadata: { finalizers: [FINALIZER] }, status: { color: 'red' } } },
    })
    expect(course.next.state.own).toMatchObject({
      data: { color: 'red' },
      metadata: { name: 'one', namespace: 'default', ownerReferences: [{ kind: 'Shop', uid: 'uid-one' }] },
    })
    const second = await runPass(shop(), course.next)
    expect([second.written, second.status, second.finalizer]).toEqual([[], {}, undefined])
  })

  it('writes only mentioned fields that differ', async () => {
    const own = stored<ConfigMap>({ ...mapOf('blue'), data: { color: 'blue', theirs: 'kept' } })
    const { next, written } = await runPass(shop(), { target: red, state: { own } })
    expect(written).toEqual(['apply ConfigMap one'])
    expect(next.state.own?.data).toEqual({ color: 'red', theirs: 'kept' })
  })

  it('produces the faults of the test, for all calls or selected ones', async () => {
    const every = await runPass(shop(), { target: red, fails: { apply: forbidden } })
    expect(every).toMatchObject({
      outcome: { faults: [forbidden] },
      ended: undefined,
      writes: [],
      events: [{ type: 'Warning', reason: 'Forbidden', message: 'no' }],
    })
    const other = { apply: ({ kind }: { kind: string }) => (kind === 'Secret' ? forbidden : undefined) }
    expect((await runPass(shop(), { target: red, fails: other })).outcome).toEqual(done)
    const refresh = await runPass(shop(), { target: red, fails: { refresh: forbidden } })
    expect([refresh.outcome.faults, refresh.written]).toEqual([[forbidden], ['apply ConfigMap one']])
    const status = await runPass(shop(), { target: red, fails: { status: forbidden } })
    expect([status.outcome.faults, status.status]).toEqual([[forbidden], {}])
  })

  it('creates, adopts, patches, releases, records events and saves like a run', async () => {
    const foreign = mapOf('blue', { name: 'foreign' })
    const all = action<Pass>('all', async ({ act, status, save, target }) => {
      const wanted = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } })
      status['color'] = `${await act.create(wanted('foreign'))} ${await act.create(wanted('new'))}`
      await save()
      await act.patch(foreign, { data: { color: 'green' } }, { fenced: true })
      await act.apply(wanted('foreign'), { adopt: true, expected: foreign })
      await act.release(foreign, 'example.com/hold')
      await act.event({ type: 'Normal', reason: 'Made', message: String(target.status?.color) })
      return done
    })
    const course = await runPass(shop(all), { target: red, state: { all: [foreign] } })
    expect(course).toMatchObject({
      outcome: done,
      written: ['create ConfigMap new', 'patch ConfigMap foreign', 'release ConfigMap foreign example.com/hold'],
      status: { color: 'exists created' },
      events: [{ type: 'Normal', reason: 'Made', message: 'undefined' }],
      next: { target: { status: { color: 'exists created' } }, state: { all: [{ data: { color: 'green' } }] } },
    })
  })

  it('refreshes a state with the objects that match all label expressions of its query and the given fields', async () => {
    const label = (key: string, operator: string, ...values: readonly string[]) => ({ key, operator, values })
    const selector = [
      ...[label('tier', 'In', 'a', 'b'), label('zone', 'NotIn', 'c')],
      ...[
        { key: 'on', operator: 'Exists' },
        { key: 'off', operator: 'DoesNotExist' },
      ],
    ]
    const apply = action<Pass>('apply', async (pass) => {
      const meant = { tier: 'b', on: 'yes' }
      const labelled = {
        same: meant,
        tier: { ...meant, tier: 'c' },
        zone: { ...meant, zone: 'c' },
        off: { ...meant, off: '' },
      }
      for (const [name, labels] of Object.entries({ ...labelled, on: { tier: 'a' }, other: meant }))
        await pass.act.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, labels }, data: { color: name } })
      const found = [
        await pass.refresh('all'),
        await pass.refresh('all', { fields: { 'data.color': ['same', 'zone'] } }),
      ]
      pass.status['color'] = found.map((all) => all.map(({ metadata }) => metadata.name).join()).join(' ')
      return done
    })
    const queries = {
      own: shop().queries['own']!,
      all: { kind: 'v1/ConfigMap', many: true, labelsFrom: 'spec.selector' },
    } as const
    const controller = defineLevel<State, Shop>({ name: 'shop', target: shop().target, queries, plan: apply })
    const spec = { ...red.spec, selector }
    expect((await runPass(controller, { target: { spec } })).status).toEqual({ color: 'same,other same' })
  })

  it('rejects writes to objects without owner, and undeclared writes', async () => {
    const byHand = await runPass(shop(), { target: red, state: { all: [mapOf('blue')] } })
    expect(byHand.outcome.faults).toMatchObject([{ code: 'NotOwned', retryable: false }])
    const elsewhere = action<Pass>('elsewhere', async ({ act }) => {
      await act.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'b' } })
      return done
    })
    expect((await runPass(shop(elsewhere), { target: red })).outcome.faults).toMatchObject([{ code: 'OtherNamespace' }])
    const declared = { ...shop(elsewhere), writes: [{ kind: 'v1/ConfigMap', namespaces: ['b'] }] }
    expect((await runPass(declared, { target: red })).written).toEqual(['apply ConfigMap a'])
    const secrets = { ...shop(), writes: [{ kind: 'v1/Secret', namespaces: [] }] }
    expect((await runPass(secrets, { target: red })).outcome.faults).toMatchObject([{ code: 'UndeclaredWrite' }])
  })

  it('rejects writes to objects of another owner, and unknown kinds', async () => {
    const owner = { apiVersion: 'v1', kind: 'Shop', name: 'other', uid: 'u', controller: true }
    const taken = mapOf('blue', { ownerReferences: [owner] })
    const met = await runPass(shop(), { target: red, state: { own: taken } })
    expect(met.outcome.faults).toEqual([
      {
        code: 'OwnedByAnother',
        message: 'ConfigMap one: found owner Shop other; expected no owner, or the target',
        retryable: false,
      },
    ])
    const goose = action<Pass>('goose', async ({ act }) => {
      await act.apply({ apiVersion: 'v1', kind: 'Goose', metadata: { name: 'a' } })
      return done
    })
    expect((await runPass(shop(goose), { target: red })).outcome.faults).toMatchObject([{ code: 'UnknownKind' }])
  })

  it('over an object with a deletionTimestamp runs onDelete while the object has the finalizer', async () => {
    const metadata = { deletionTimestamp: '2026-02-01T00:00:00Z', finalizers: [FINALIZER] }
    const first = await runPass(shop(), { target: { ...red, metadata }, state: { own: mapOf('red') } })
    expect(first).toMatchObject({ written: ['remove ConfigMap one'], ended: undefined, finalizer: undefined })
    expect(await runPass(shop(), first.next)).toMatchObject({ written: [], ended: 'Deleted', finalizer: 'taken off' })
    const released = { ...metadata, finalizers: [] }
    expect(await runPass(shop(), { target: { ...red, metadata: released } })).toMatchObject({ ended: 'Deleted' })
  })

  it('adds the finalizer only to an object that needs it', async () => {
    const controller = { ...shop(), needsFinalizer: ({ metadata: { name } }: WithName) => name === 'needed' }
    const pass = async (name: string, finalizers: readonly string[]) =>
      (await runPass(controller, { target: { ...red, metadata: { name, finalizers } } })).finalizer
    expect(await pass('needed', [])).toBe('put on')
    expect(await pass('needed', [FINALIZER])).toBeUndefined()
    expect(await pass('other', [])).toBeUndefined()
    expect(await pass('other', [FINALIZER])).toBe('taken off')
  })

  it('calls own activities of the controller with the results of the test', async () => {
    const quotes = activitiesOf(() => import('./quotes.activities.ts'), { fetchQuote: { timeoutMs: 100 } })
    const priced = action<Pass>('priced', async ({ call, status }) => {
      status['color'] = String((await call(quotes).fetchQuote({ symbol: 'A' })).price)
      return done
    })
    const shopOfQuotes = { ...shop(priced), activities: quotes }
    const calls = { fetchQuote: ({ symbol }: { symbol: string }) => ({ price: symbol.length }) }
    expect((await runPass(shopOfQuotes, { target: red, calls })).status).toEqual({ color: '1' })
    const closed = { code: 'Closed', message: 'no market', retryable: true }
    const failed = await runPass(shopOfQuotes, { target: red, calls, fails: { call: closed } })
    expect(failed.outcome.faults).toEqual([closed])
    await expect(runPass(shopOfQuotes, { target: red })).rejects.toThrow('add one to `calls`')
    await expect(runPass(shop(priced), { target: red, calls })).rejects.toThrow('activities that it does not declare')
  })

  it('throws the fault of an unreadable state where a step reads it', async () => {
    const own = action<Pass>('own', ({ state }) => Promise.resolve(state.own === undefined ? done : stop('there')))
    const fails = { observe: (state: string) => (state === 'own' ? forbidden : undefined) }
    const { outcome, written } = await runPass(shop(join(own, applyMap)), { target: red, fails })
    expect([outcome.faults, written]).toEqual([[forbidden], ['apply ConfigMap one']])
  })

  it('throws bugs', async () => {
    const bug = action<Pass>('bug', () => {
      throw new Error('mine')
    })
    await expect(runPass(shop(bug), { target: red })).rejects.toThrow('mine')
  })

  it('waits only for a step that hangs in a time-out', async () => {
    const hangs = action<Pass>('hangs', () => new Promise<never>(() => undefined))
    const { outcome, trace } = await runPass(
      shop(join(timeout(5, hangs), retry({ attempts: 3, delayMs: 60_000 }, applyMap))),
      {
        target: red,
        fails: { apply: forbidden },
      },
    )
    expect(outcome.faults.map(({ code }) => code)).toEqual(['Timeout', 'Forbidden'])
    expect(describeTrace(trace)).toContain('✗ applyMap (3 runs): Forbidden')
    expect(describeTrace(trace)).toContain('✗ hangs: did not end')
  })

  it('draws the steps that ran', async () => {
    const plan = always(
      sequential(applyMap, count),
      action<Pass>('tell', () => again(900)),
    )
    const { trace } = await runPass(shop(plan), { target: red, fails: { apply: forbidden } })
    expect(describeTrace(trace).split('\n')).toEqual([
      '✗ always: Forbidden: no (tried again); again in 900 ms',
      '├─ ✗ sequential: Forbidden: no (tried again)',
      '│  ├─ ✗ applyMap: Forbidden: no (tried again)',
      '│  └─ – count',
      '└─ ✓ tell: again in 900 ms',
    ])
  })
})
