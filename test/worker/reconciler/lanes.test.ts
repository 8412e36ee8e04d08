// What a worker serves of a controller whose subjects it shares with others, and the queues that follow from it.

import { describe, expect, it } from 'vitest'

import {
  allTaskQueues,
  partitionShares,
  excludedPartitions,
  taskQueueOf,
  taskQueuesOf,
  handledTypesOf,
  shortPartition,
} from '../../../worker/reconciler/task-queues.ts'
import { type Controller, path } from '../../../workflows/kit/index.ts'

const LANES = { path: path('spec.color'), names: ['example.com/blue', 'example.com/red', 'x/green'], flag: 'colors' }
const controllers = [
  { name: 'paint', partitions: LANES, hostedBy: ['room', 'house'] },
  { name: 'room' },
  { name: 'house' },
  { name: 'garden' },
] as unknown as readonly Controller[]
const shares = (colors: string) => partitionShares(controllers, { colors })

describe('the lanes that a flag gives to a worker', () => {
  it('are all without the flag: nothing is shared', () => {
    expect(partitionShares(controllers, {})).toEqual([])
    expect(handledTypesOf([], 'house')).toBeUndefined()
    expect(excludedPartitions([])).toEqual([])
  })

  it('are named short or whole, and stand in order', () => {
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

  it('are what runs of hosts serve; runs of the controller itself are of one lane each', () => {
    const served = ['room', 'house', 'paint', 'garden'].map((name) => handledTypesOf(shares('red'), name))
    expect(served).toEqual([['example.com/red'], ['example.com/red'], undefined, undefined])
  })

  it('leave the others to other workers', () => {
    const left = { controller: 'paint', at: LANES.path }
    expect(excludedPartitions(shares('red'))).toEqual([{ ...left, lanes: ['example.com/blue', 'x/green'] }])
    expect(excludedPartitions(shares('red,blue,green'))).toEqual([])
  })

  it('are named whole where two would have one short name', () => {
    expect(shortPartition('a/red', ['a/red', 'b/red', 'blue'])).toBe('a/red')
    expect(shortPartition('b/blue', ['a/red', 'b/blue'])).toBe('blue')
    expect(shortPartition('plain', ['plain'])).toBe('plain')
  })
})

describe('the task queues of a worker', () => {
  const taskQueue = 'q'

  it('are one for all that it runs, or one for each controller', () => {
    const [all, some] = [
      { taskQueue, controllers: undefined },
      { taskQueue, controllers: ['house', 'paint'] },
    ]
    expect([allTaskQueues(all), taskQueueOf(all, 'paint', 'example.com/red')]).toEqual([['q'], 'q'])
    expect([allTaskQueues(some), taskQueueOf(some, 'paint', 'example.com/red')]).toEqual([
      ['q-house', 'q-paint'],
      'q-paint',
    ])
  })

  it('are one for each lane, and for hosts one that says which lanes they host', () => {
    const queues = { taskQueue, controllers: ['paint', 'house', 'garden'], shares: shares('red,green') }
    expect(allTaskQueues(queues)).toEqual(['q-paint-red', 'q-paint-green', 'q-house-red+green', 'q-garden'])
    expect(taskQueuesOf(queues, 'room')).toEqual(['q-room-red+green'])
    expect(taskQueueOf(queues, 'paint', 'x/green')).toBe('q-paint-green')
    expect(taskQueueOf(queues, 'house')).toBe('q-house-red+green')
  })

  it('are any of those for a subject that is in no lane, and the one of those who serve it for any other', () => {
    const queues = { taskQueue, controllers: ['paint'], shares: shares('red') }
    expect(taskQueueOf(queues, 'paint')).toBe('q-paint-red')
    expect(taskQueueOf(queues, 'paint', 'example.com/blue')).toBe('q-paint-blue')
  })
})
