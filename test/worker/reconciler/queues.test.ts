import { describe, expect, it } from 'vitest'

import { defineLevel, nop } from '../../../workflows/kit/index.ts'
import { allTaskQueues, taskQueueOf, taskQueuesOf } from '../../../worker/reconciler/task-queues.ts'
import { createRegistry, disabledControllers } from '../../../worker/server/registry.ts'
import { WINGS } from '../../../workflows/wings.gen.ts'

const target = { apiVersion: 'example.com/v1', kind: 'Shop', plural: 'shops' }
const level = (name: string, queue?: string) =>
  defineLevel({ name, target, queries: {}, plan: nop, ...(queue !== undefined && { settings: { queue } }) })
const { queues: named } = createRegistry([level('shop', 'slow'), level('till'), level('audit', 'slow')], [])

describe('the task queues of controllers that ask for one by name', () => {
  const all = { taskQueue: 'q', controllers: undefined, named }

  it('are theirs in a worker that runs all controllers, beside the queue of the others, and one for those that share a name', () => {
    expect(allTaskQueues(all)).toEqual(['q', 'q.slow'])
    expect(['shop', 'till', 'audit'].map((name) => taskQueueOf(all, name))).toEqual(['q.slow', 'q', 'q.slow'])
    expect(taskQueuesOf(all, 'shop')).toEqual(['q.slow'])
  })

  it('mean nothing in a worker that runs some, where each has a queue to itself', () => {
    const some = { ...all, controllers: ['shop', 'till'] }
    expect(allTaskQueues(some)).toEqual(['q-shop', 'q-till'])
    expect(taskQueueOf(some, 'shop')).toBe('q-shop')
  })

  it('are never that of a controller of this name', () => {
    const queues = { taskQueue: 'q', controllers: undefined, named: createRegistry([level('till', 'shop')], []).queues }
    expect(taskQueueOf(queues, 'till')).not.toBe(taskQueueOf({ ...queues, controllers: ['shop'] }, 'shop'))
  })
})

describe('a controller that a flag switches on', () => {
  const queuesWith = (...flags: readonly string[]) => {
    const given = Object.fromEntries(flags.map((flag) => [flag, 'yes']))
    const { queues } = createRegistry([], undefined, disabledControllers(given))
    return { taskQueue: 'q', controllers: undefined, named: queues }
  }
  const switches = Object.values(WINGS).flatMap(({ switches: own = {} }) => Object.entries(own))

  it.each(switches)('%s runs on a queue that no worker without --%s asks', (controller, flag) => {
    const queue = taskQueueOf(queuesWith(flag), controller)
    expect(allTaskQueues(queuesWith(flag))).toContain(queue)
    const others = switches.flatMap(([, other]) => (other === flag ? [] : [other]))
    expect(allTaskQueues(queuesWith(...others))).not.toContain(queue)
  })
})
