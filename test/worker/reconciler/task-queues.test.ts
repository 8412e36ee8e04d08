// The partitions that a worker handles, and the task queues that follow from them.

import { describe, expect, it } from 'vitest'

import {
  allTaskQueues,
  excludedPartitions,
  handledTypesOf,
  partitionShares,
  shortPartition,
  taskQueueOf,
  taskQueuesOf,
} from '../../../worker/reconciler/task-queues.ts'
import { createRegistry, disabledControllers } from '../../../worker/server/registry.ts'
import { type Controller, defineLevel, nop, path } from '../../../workflows/kit/index.ts'
import { WINGS } from '../../../workflows/wings.gen.ts'

const LANES = { path: path('spec.color'), names: ['example.com/blue', 'example.com/red', 'x/green'], flag: 'colors' }
const controllers = [
  { name: 'paint', partitions: LANES, hostedBy: ['room', 'house'] },
  { name: 'room' },
  { name: 'house' },
  { name: 'garden' },
] as unknown as readonly Controller[]
const shares = (colors: string) => partitionShares(controllers, { colors })

describe('the flag that selects partitions', () => {
  it('is optional: without it, the worker handles all partitions', () => {
    expect(partitionShares(controllers, {})).toEqual([])
    expect(handledTypesOf([], 'house')).toBeUndefined()
    expect(excludedPartitions([])).toEqual([])
  })

  it('accepts short and full names and sorts them', () => {
    for (const colors of ['red,blue', 'example.com/blue, red'])
      expect(shares(colors)).toEqual([
        {
          controller: 'paint',
          hosts: ['room', 'house'],
          partitions: LANES,
          handled: ['example.com/blue', 'example.com/red'],
        },
      ])
  })

  it('limits the types that runs of hosts handle', () => {
    const served = ['room', 'house', 'paint', 'garden'].map((name) => handledTypesOf(shares('red'), name))
    expect(served).toEqual([['example.com/red'], ['example.com/red'], undefined, undefined])
  })

  it('excludes the other partitions from the claims of this worker', () => {
    const left = { controller: 'paint', at: LANES.path }
    expect(excludedPartitions(shares('red'))).toEqual([{ ...left, lanes: ['example.com/blue', 'x/green'] }])
    expect(excludedPartitions(shares('red,blue,green'))).toEqual([])
  })

  it('requires the full name if two partitions have the same short name', () => {
    expect(shortPartition('a/red', ['a/red', 'b/red', 'blue'])).toBe('a/red')
    expect(shortPartition('b/blue', ['a/red', 'b/blue'])).toBe('blue')
    expect(shortPartition('plain', ['plain'])).toBe('plain')
  })
})

describe('the task queues of a worker', () => {
  const taskQueue = 'q'
  const all = { taskQueue, controllers: undefined }

  it('are one queue for all controllers, or one for each selected controller', () => {
    const some = { taskQueue, controllers: ['house', 'paint'] }
    expect([allTaskQueues(all), taskQueueOf(all, 'paint', 'example.com/red')]).toEqual([['q'], 'q'])
    expect(allTaskQueues(some)).toEqual(['q-house', 'q-paint'])
    expect(taskQueueOf(some, 'paint', 'example.com/red')).toBe('q-paint')
  })

  it('are one for each partition, and one for hosts with the partitions in its name', () => {
    const queues = { taskQueue, controllers: ['paint', 'house', 'garden'], shares: shares('red,green') }
    expect(allTaskQueues(queues)).toEqual(['q-paint-red', 'q-paint-green', 'q-house-red+green', 'q-garden'])
    expect(taskQueuesOf(queues, 'room')).toEqual(['q-room-red+green'])
    expect(taskQueueOf(queues, 'paint', 'x/green')).toBe('q-paint-green')
    expect(taskQueueOf(queues, 'house')).toBe('q-house-red+green')
    // For subjects outside all partitions, and for partitions of other workers.
    expect(taskQueueOf({ ...queues, shares: shares('red') }, 'paint')).toBe('q-paint-red')
    expect(taskQueueOf({ ...queues, shares: shares('red') }, 'paint', 'example.com/blue')).toBe('q-paint-blue')
  })

  const target = { apiVersion: 'example.com/v1', kind: 'Shop', plural: 'shops' }
  const level = (name: string, queue?: string) =>
    defineLevel({ name, target, queries: {}, plan: nop, ...(queue !== undefined && { settings: { queue } }) })
  const named = createRegistry([level('shop', 'slow'), level('till'), level('audit', 'slow')], []).queues

  it('are named by controllers in a worker that runs all controllers; controllers may share a queue', () => {
    const queues = { ...all, named }
    expect(allTaskQueues(queues)).toEqual(['q', 'q.slow'])
    expect(['shop', 'till', 'audit'].map((name) => taskQueueOf(queues, name))).toEqual(['q.slow', 'q', 'q.slow'])
    expect(taskQueuesOf(queues, 'shop')).toEqual(['q.slow'])
  })

  it('are one for each controller, also with a named queue, in a worker that runs selected controllers', () => {
    const some = { ...all, named, controllers: ['shop', 'till'] }
    expect(allTaskQueues(some)).toEqual(['q-shop', 'q-till'])
    expect(taskQueueOf(some, 'shop')).toBe('q-shop')
  })

  it('never share the name of a named queue with a controller', () => {
    const queues = { ...all, named: createRegistry([level('till', 'shop')], []).queues }
    expect(taskQueueOf(queues, 'till')).not.toBe(taskQueueOf({ ...queues, controllers: ['shop'] }, 'shop'))
  })
})

describe('a controller that a flag enables', () => {
  const queuesWith = (...flags: readonly string[]) => {
    const given = Object.fromEntries(flags.map((flag) => [flag, 'yes']))
    const { queues } = createRegistry([], undefined, disabledControllers(given))
    return { taskQueue: 'q', controllers: undefined, named: queues }
  }
  const switches = Object.values(WINGS).flatMap(({ switches: own = {} }) => Object.entries(own))

  it.each(switches)('%s runs on a queue that workers without --%s do not poll', (controller, flag) => {
    const queue = taskQueueOf(queuesWith(flag), controller)
    expect(allTaskQueues(queuesWith(flag))).toContain(queue)
    const others = switches.flatMap(([, other]) => (other === flag ? [] : [other]))
    expect(allTaskQueues(queuesWith(...others))).not.toContain(queue)
  })
})
