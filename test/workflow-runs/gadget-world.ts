// Starts workflow runs of gadgets (level mode) with fake activities for a test.

import { Context } from '@temporalio/activity'
import type { ApplicationFailure } from '@temporalio/common'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'

import type {
  ApplyInput,
  CreateInput,
  JobInput,
  JsonObject,
  LevelActivities,
  LevelInput,
  LevelJournal,
  Observed,
  PatchInput,
  SettleLevelInput,
  StatusInput,
} from '../../workflows/kit/index.ts'
import type { Gadget } from './gadget.ts'
import { useRunWorker } from './run-worker.ts'
import { RunWorld, Worlds } from './run-world.ts'

type Spec = Gadget['spec']

/** The finalizer of gadgets. */
export const HOLD = 'example.com/hold'

/** The fake activities of one run: the observed object, their results, and their calls. */
export class GadgetWorld extends RunWorld {
  readonly settled: SettleLevelInput[] = []
  removal: 'removed' | 'changed' = 'removed'
  isCleared = false
  answer: 'applied' | 'changed' = 'applied'
  failStatus: ApplicationFailure | undefined
  turns: boolean[] = []
  unreadable: Observed['unreadable']
  onObserve: (() => Promise<void>) | undefined
  onEnd: (() => Promise<void>) | undefined
  #target: Gadget | undefined

  constructor() {
    super(`gadget/${randomUUID()}`)
  }

  becomes(spec: Spec | undefined, change: { readonly status?: object; readonly metadata?: object } = {}): void {
    const { status, metadata } = change
    const held = { name: 'g', namespace: 'n', uid: 'u', resourceVersion: '1', generation: 1, finalizers: [HOLD] }
    this.#target = spec && {
      apiVersion: 'example.com/v1',
      kind: 'Gadget',
      spec,
      ...(status && { status }),
      metadata: { ...held, creationTimestamp: 'now', ...metadata },
    }
  }

  async takeTurn(): Promise<boolean> {
    const isTurn = this.turns.shift() ?? true
    await this.did(isTurn ? 'turn' : 'no turn')
    return isTurn
  }

  async observe(evenGone = false): Promise<Observed | undefined> {
    this.log.push('observe')
    const target = this.#target
    await this.onObserve?.()
    const { unreadable } = this
    if (target === undefined && evenGone)
      return { target: NAME_ONLY, isGone: true, states: this.isCleared ? {} : { one: ONE } }
    return (
      target && { target, states: { one: ONE, ...(unreadable ? {} : { list: [] }) }, ...(unreadable && { unreadable }) }
    )
  }

  refresh() {
    this.log.push('refresh')
    return Promise.resolve({ found: { ...ONE, data: { newer: 'yes' } } })
  }

  remove() {
    this.log.push('remove')
    return Promise.resolve(this.removal)
  }

  did(what: string): Promise<void> {
    this.log.push(what)
    return Promise.resolve()
  }

  async finalize(guarded: boolean): Promise<JsonObject | undefined> {
    await this.did(`finalizer ${guarded ? 'on' : 'off'}`)
    return guarded ? this.#target : undefined
  }

  async apply({ resource, object, elsewhere, adopt, expected }: ApplyInput): Promise<'applied' | 'changed'> {
    const how = [...(elsewhere ? ['elsewhere'] : []), ...(adopt ? ['adopting'] : []), expected?.metadata.name ?? []]
    const what = ['apply', resource.plural, object.metadata.name, ...how.flat()].join(' ')
    await this.did(what)
    if (this.#target?.spec.hangs === true) {
      await once(Context.current().cancellationSignal, 'abort')
      await this.did(`${what} is cut off`)
    }
    return this.answer
  }

  async create({ object }: CreateInput): Promise<'created' | 'exists'> {
    await this.did(`create ${object.metadata.name}`)
    return 'exists'
  }

  async patch({ object, patch, fenced }: PatchInput): Promise<'patched' | 'changed'> {
    await this.did(`patch ${object.metadata.name} ${JSON.stringify(patch)}${fenced ? ' fenced' : ''}`)
    return this.answer === 'applied' ? 'patched' : 'changed'
  }

  async write({ status, conditions = [] }: StatusInput): Promise<string> {
    if (this.failStatus !== undefined) throw this.failStatus
    const types = conditions.map(({ type, status: is }) => ` ${type} ${JSON.stringify(is)}`)
    await this.did(`status ${JSON.stringify(status)}${types.join('')}`)
    return '2'
  }

  async settle(input: SettleLevelInput): Promise<void> {
    this.settled.push(input)
    await this.did('settle')
  }

  async end(outcome: string): Promise<void> {
    await this.did(`end ${outcome}`)
    await this.onEnd?.()
  }
}

const NAME_ONLY = {
  apiVersion: 'example.com/v1',
  kind: 'Gadget',
  metadata: { name: 'g', namespace: 'n', uid: 'u' },
} as unknown as JsonObject

const ONE: JsonObject = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'one', namespace: 'n', uid: 'u1', resourceVersion: '1', generation: 1, creationTimestamp: 'now' },
}

/** Registers vitest hooks for the calling test file. */
export function useGadgets() {
  const worlds = new Worlds<GadgetWorld>()
  const activities: LevelActivities & LevelJournal = {
    observeLevel: (input) => worlds.of(input.by.workflowID).observe(input.evenGone),
    refreshLevel: (input) => worlds.of(input.by.workflowID).refresh(),
    applyLevel: (input) => worlds.of(input.by.workflowID).apply(input),
    createLevel: (input) => worlds.of(input.by.workflowID).create(input),
    patchLevel: (input) => worlds.of(input.by.workflowID).patch(input),
    releaseLevel: async (input) => {
      await worlds.of(input.by.workflowID).did(`release ${input.finalizer}`)
      return 'released'
    },
    eventLevel: (input) => worlds.of(input.by.workflowID).did(`event ${input.event.type} ${input.event.reason}`),
    removeLevel: (input) => worlds.of(input.by.workflowID).remove(),
    finalizeLevel: (input) => worlds.of(input.by.workflowID).finalize(input.guarded),
    writeLevelStatus: (input) => worlds.of(input.by.workflowID).write(input),
    takeTurn: (input) => worlds.of(input.by.workflowID).takeTurn(),
    settleLevel: (input) => worlds.of(input.by.workflowID).settle(input),
    endLevel: (input) => worlds.of(input.by.workflowID).end(input.outcome),
  }
  // Logs the piggybacked Events of a call before the call.
  const told = Object.entries<(input: never) => Promise<unknown>>({ ...activities }).map(([name, act]) => [
    name,
    async (input: LevelInput) => {
      for (const { event } of input.told ?? []) worlds.of(input.by.workflowID).log.push(`along ${event.reason}`)
      return await act(input as never)
    },
  ])
  const worker = useRunWorker('gadget.ts', Object.fromEntries(told) as typeof activities)

  async function start(
    spec: Spec | undefined,
    change: { status?: object; metadata?: object } = {},
    workflow = 'gadget',
  ): Promise<GadgetWorld> {
    const world = new GadgetWorld()
    world.becomes(spec, change)
    await run(world, workflow)
    return world
  }

  async function run(world: GadgetWorld, workflow = 'gadget'): Promise<void> {
    worlds.add(world)
    const input: JobInput = {
      subject: { kind: 'Gadget', uid: 'u', namespace: 'n', name: 'g' },
      jobID: '',
      cause: 'test',
    }
    world.run = await worker.start(workflow, {
      workflowId: world.workflowID,
      args: [input],
      workflowTaskTimeout: '60 seconds',
    })
  }

  return { start, run }
}
