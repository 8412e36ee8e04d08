// Runs in level mode on a real Temporal server with fake activities: end, continuation, and calls to the journal.

import { ApplicationFailure } from '@temporalio/common'
import proto from '@temporalio/proto'
import { describe, expect, it, vi } from 'vitest'

import { GadgetWorld, useGadgets } from './gadget-world.ts'
import { PATIENT } from './run-world.ts'

const { EventType } = proto.temporal.api.enums.v1

const { start, run } = useGadgets()

describe('a run in level mode', () => {
  it('ends when its object has converged, and writes nothing that is unchanged', async () => {
    const world = await start({ status: { said: 'yes' } }, { status: { said: 'yes' } })
    expect(await world.run.result()).toBe('Converged')
    expect(world.log).toEqual(['observe', 'end Converged'])
  })

  it('writes the changed fields of its status in one call, and treats null as absent', async () => {
    const world = await start(
      { status: { a: '1', b: '2', c: null, d: null } },
      { status: { a: '1', b: '1', d: 'old' } },
    )
    expect(await world.run.result()).toBe('Converged')
    expect(world.log).toEqual(['observe', 'status {"b":"2","d":null}', 'end Converged'])
  })

  it('ends when its object was deleted, or has a deletionTimestamp and not its finalizer', async () => {
    const gone = await start(undefined)
    expect(await gone.run.result()).toBe('Deleted')
    const going = await start({}, { metadata: { deletionTimestamp: 'now', finalizers: ['other'] } })
    expect(await going.run.result()).toBe('Deleted')
    expect([gone.log, going.log]).toEqual([
      ['observe', 'end Deleted'],
      ['observe', 'end Deleted'],
    ])
  })

  it('adds the finalizer before it acts, and removes it only when onDelete is done', async () => {
    const world = await start({ apply: { apiVersion: 'v1', kind: 'ConfigMap' } }, { metadata: { finalizers: [] } })
    expect(await world.run.result()).toBe('Converged')
    expect(world.log).toEqual(['observe', 'finalizer on', 'apply configmaps made', 'end Converged'])

    const leaving = { metadata: { deletionTimestamp: 'now' } }
    const held = await start({ outcome: { laterMs: 60_000 } }, leaving)
    await held.reached('settle')
    held.becomes({}, leaving)
    await held.wake()
    expect(await held.run.result()).toBe('Deleted')
    expect(held.log).toEqual(['observe', 'settle', 'observe', 'finalizer off', 'end Deleted'])
  })

  it('runs onGone after another client has removed the finalizer, and writes no status', async () => {
    const world = await start(undefined, {}, 'clearingGadget')
    await world.reached('settle')
    expect(world.log).toEqual(['observe', 'remove', 'settle'])
    world.isCleared = true
    await world.wake()
    expect(await world.run.result()).toBe('Deleted')
    expect(world.log.slice(3)).toEqual(['observe', 'end Deleted'])

    const unheld = await start({}, { metadata: { deletionTimestamp: 'now', finalizers: [] } }, 'clearingGadget')
    await unheld.reached('settle')
    expect(unheld.log).toEqual(['observe', 'remove', 'status {"said":"nobody sees it"}', 'settle'])
    await unheld.run.terminate()
  })

  // The other outcomes: test/workflows/kit/run/next-pass.test.ts.
  it.each([
    ['a stop', { stopped: 'waiting' }, { againMs: undefined, attempt: 0, fault: undefined }],
    ['a time for later', { laterMs: 5000 }, { againMs: 5000, attempt: 0, fault: undefined }],
    [
      'a fault that may pass beside a wish for now',
      { againMs: 0, faults: [{ code: 'Away', message: 'no', retryable: true }] },
      { againMs: 1000, attempt: 1, fault: { reason: 'Away', message: 'no' } },
    ],
  ])('waits after %s, updates the journal, starts no timer, and converges later', async (_, outcome, told) => {
    const world = await start({ outcome })
    await world.reached('settle')
    expect(world.settled.map(({ againMs, attempt, fault }) => ({ againMs, attempt, fault }))).toEqual([told])
    world.becomes({})
    await world.wake()
    expect(await world.run.result()).toBe('Converged')
    expect(await world.eventsOf(EventType.EVENT_TYPE_TIMER_STARTED)).toBe(0)
  })

  it('counts attempts after retryable faults, and restarts the count after a pass without', async () => {
    const away = { outcome: { faults: [{ code: 'Away', message: 'no', retryable: true }] } }
    const world = await start(away)
    for (const [count, next] of [away, { outcome: { stopped: 'waiting' } }, away].entries()) {
      await vi.waitFor(() => expect(world.settled.length).toBe(count + 1), PATIENT)
      world.becomes(next)
      await world.wake()
    }
    await vi.waitFor(() => expect(world.settled.map(({ attempt }) => attempt)).toEqual([1, 2, 0, 1]), PATIENT)
    await world.run.terminate()
  })

  it.each([
    ['', []],
    [', also beside a final fault', [{ code: 'Wrong', message: 'no', retryable: false }]],
  ])('gets one pass a second after twenty immediate ones%s', async (_, faults) => {
    const world = await start({ outcome: { againMs: 10, faults } })
    for (let passes = 1; passes <= 22; passes++) {
      await vi.waitFor(() => expect(world.settled.length).toBe(passes), PATIENT)
      if (passes === 21) world.becomes({ outcome: { againMs: 3000 } })
      if (passes < 22) await world.wake()
    }
    const [first, , ...rest] = world.settled.map(({ againMs }) => againMs).reverse()
    expect([first, ...rest]).toEqual([3000, ...Array<number>(20).fill(10)])
    expect(world.settled.at(-2)?.againMs).toBe(1000)
    await world.run.terminate()
  })

  it('reports errors of the API server, also for its own status, and continues', async () => {
    const world = await start({ status: { a: '1' } })
    world.failStatus = ApplicationFailure.nonRetryable('status.a: Invalid value', 'Invalid')
    await world.reached('settle')
    expect(world.settled[0]?.fault).toEqual({ reason: 'Invalid', message: 'status.a: Invalid value' })
    world.failStatus = undefined
    await world.wake()
    expect(await world.run.result()).toBe('Converged')
  })

  it('starts the next pass without back-off when an object to be removed or written has changed', async () => {
    const [removing, acting] = [new GadgetWorld(), new GadgetWorld()]
    removing.removal = 'changed'
    removing.becomes({ remove: true })
    acting.answer = 'changed'
    acting.becomes({ acts: true })
    for (const world of [removing, acting]) {
      await run(world)
      await world.reached('settle')
      expect(world.settled).toMatchObject([{ againMs: 0, attempt: 0, fault: { reason: 'Changed' } }])
    }
    expect(acting.settled[0]?.fault?.message).toBe('ConfigMap n/one has changed since the pass of Gadget g observed it')
    removing.removal = 'removed'
    await removing.wake()
    expect(await removing.run.result()).toBe('Converged')
    await acting.run.terminate()
  })

  it('makes one activity call for each write of an action', async () => {
    const world = await start({ acts: true })
    expect(await world.run.result()).toBe('Converged')
    expect(world.log).toEqual([
      'observe',
      'apply configmaps made adopting one',
      'create only',
      'patch one {"data":{"key":"value"}} fenced',
      'release example.com/hold',
      'event Normal Made',
      'end Converged',
    ])
  })

  it('records piggybacked events with the next call or the end, if its controller is configured so', async () => {
    const world = await start({ tells: true, acts: true }, {}, 'quietGadget')
    expect(await world.run.result()).toBe('Converged')
    expect(world.log).toEqual([
      'observe',
      ...['along Opened', 'apply configmaps made adopting one'],
      ...['create only', 'patch one {"data":{"key":"value"}} fenced', 'release example.com/hold'],
      ...['along Made', 'end Converged'],
    ])
  })

  it('records the remaining events once when a pass is settled', async () => {
    const world = await start({ tells: true, outcome: { laterMs: 60_000 } }, {}, 'quietGadget')
    await world.reached('settle')
    expect(world.log).toEqual(['observe', 'along Opened', 'settle'])
    world.becomes({})
    await world.wake()
    expect(await world.run.result()).toBe('Converged')
    expect(world.log.filter((line) => line.startsWith('along'))).toHaveLength(1)
  })

  it('records events before a status write, and before its finalizer is removed', async () => {
    const world = await start(
      { tells: true, status: { a: '1' } },
      { metadata: { deletionTimestamp: 'now' } },
      'quietGadget',
    )
    expect(await world.run.result()).toBe('Deleted')
    expect(world.log).toEqual(['observe', 'along Opened', 'status {"a":"1"}', 'finalizer off', 'end Deleted'])
  })

  it('writes declared kinds, also in other namespaces', async () => {
    const world = await start({ apply: { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'declared' } })
    expect(await world.run.result()).toBe('Converged')
    expect(world.log[1]).toBe('apply configmaps made elsewhere')
  })

  it.each([
    [
      'OtherNamespace',
      { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'other' },
      'ConfigMap other/made: found another namespace than that of Gadget n/g; use the same namespace, or add this one to `writes` of controller gadget',
    ],
    [
      'UndeclaredWrite',
      { apiVersion: 'v1', kind: 'Pod' },
      'Pod n/made: controller gadget does not declare writes of this kind; add v1/Pod to `writes`',
    ],
    ['UnknownKind', { apiVersion: 'example.com/v1', kind: 'Goose' }, ''],
    // Neither sent nor stored in the history.
    ['SecretContent', { apiVersion: 'v1', kind: 'Secret', data: { key: 'of the target' } }, ''],
  ])('makes no call for a write with the fault %s', async (reason, apply, message) => {
    const world = await start({ apply })
    await world.reached('settle')
    expect(world.settled[0]?.fault).toEqual({ reason, message: expect.stringContaining(message) as string })
    expect(world.log).toEqual(['observe', 'settle'])
    await world.run.terminate()
  })

  it('saves its status once in the middle of a pass, and later steps see it', async () => {
    const conditions = [{ type: 'Theirs', status: 'True' }]
    const world = await start({ save: true }, { status: { conditions } })
    expect(await world.run.result()).toBe('Converged')
    expect(world.log).toEqual([
      'observe',
      'status {"said":"first"} Ours "True"',
      'status {"said":"second"}',
      'end Converged',
    ])
  })

  it('replaces a state that is refreshed', async () => {
    const world = await start({ refresh: true })
    expect(await world.run.result()).toBe('Converged')
    expect(world.log).toEqual(['observe', 'refresh', 'end Converged'])
  })

  it('continues without a state that cannot be read, also during deletion; steps that read it get the fault', async () => {
    const fault = { code: 'Forbidden', message: 'state list of Gadget n/g: no right', retryable: true }
    const world = new GadgetWorld()
    world.unreadable = { list: fault }
    world.becomes({ status: { said: 'yes' } })
    await run(world)
    expect(await world.run.result()).toBe('Converged')
    expect(world.log).toEqual(['observe', 'status {"said":"yes"}', 'end Converged'])

    const asking = new GadgetWorld()
    asking.unreadable = { list: fault }
    asking.becomes({ lists: true })
    await run(asking)
    await asking.reached('settle')
    expect(asking.settled).toMatchObject([{ attempt: 1, fault: { reason: 'Forbidden', message: fault.message } }])
    asking.becomes({}, { metadata: { deletionTimestamp: 'now' } })
    await asking.wake()
    expect(await asking.run.result()).toBe('Deleted')
  })

  it('makes another pass for a wake that arrives during the observation or the end', async () => {
    const world = await start({})
    world.onObserve = async () => {
      world.onObserve = undefined
      await world.wake()
    }
    world.onEnd = async () => {
      world.onEnd = undefined
      await world.wake()
    }
    expect(await world.run.result()).toBe('Converged')
    expect(world.log.filter((line) => line === 'observe').length).toBeGreaterThanOrEqual(2)
    // The last thing that it did is to end, after it had looked.
    expect(world.log.slice(-2)).toEqual(['observe', 'end Converged'])
  })

  it('cancels a step at its deadline, together with its pending call', async () => {
    const world = await start({ isHurried: true, hangs: true, apply: { apiVersion: 'v1', kind: 'ConfigMap' } })
    await world.reached('apply configmaps made')
    const begun = Date.now()
    await world.reached('settle')
    // Before the workflow task is kept alive by a heartbeat, with which a timer would come: 48 s.
    expect(Date.now() - begun).toBeLessThan(30_000)
    expect(world.settled).toMatchObject([
      { attempt: 1, fault: { reason: 'Timeout', message: 'join took longer than 1000 ms' } },
    ])
    await world.reached('apply configmaps made is cut off')
    world.becomes({ isHurried: true })
    await world.wake()
    expect(await world.run.result()).toBe('Converged')
    expect(world.log.filter((line) => line.startsWith('apply configmaps later'))).toHaveLength(1)
  })

  it('acquires a permit before each pass where passes are limited, and waits until it is woken without one', async () => {
    const world = new GadgetWorld()
    world.turns = [false, false]
    world.becomes({ outcome: { stopped: 'waiting' } })
    await run(world, 'boundedGadget')
    await world.reached('no turn')
    await world.wake()
    await vi.waitFor(() => expect(world.log).toEqual(['no turn', 'no turn']), PATIENT)
    await world.wake()
    await vi.waitFor(() => expect(world.settled).toMatchObject([{ by: { pass: 1 }, attempt: 0 }]), PATIENT)
    world.becomes({})
    await world.wake()
    expect(await world.run.result()).toBe('Converged')
    expect(world.log).toEqual(['no turn', 'no turn', 'turn', 'observe', 'settle', 'turn', 'observe', 'end Converged'])
  })

  it('calls hooks with each step and the object', async () => {
    const world = await start({ traced: true })
    expect(await world.run.result()).toBe('Converged')
    expect(world.log).toContain('status {"trace":"g > when isHurried > sequential > tell > act > actMore"}')
  })

  it('survives a bug in its code: the task fails until the code is fixed, and the run stays open', async () => {
    const world = await start({ bug: 'undefined is not a function' })
    const failed = async () => expect(await world.eventsOf(EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED)).toBe(1)
    await vi.waitFor(failed, PATIENT)
    expect((await world.run.describe()).status.name).toBe('RUNNING')
    expect(world.settled).toEqual([])
    await world.run.terminate()
  })
})
