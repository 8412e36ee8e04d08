import { describe, expect, it } from 'vitest'

import { type ControllerRoutes, type Route, routeEvent, type RoutedEvent } from '../../../../workflows/kit/index.ts'

const route: Route = { controller: 'a', uid: 'u', namespace: 'n', name: 'x', mode: 'start', cause: 'created' }

describe('an event', () => {
  it('goes to every controller with a route, even if others ignore it', () => {
    const controllers = [
      controller('a', () => ({ routes: [route] })),
      controller('b', () => ({ ignored: 'not mine' })),
      controller('c', () => ({ routes: [{ ...route, controller: 'c' }] })),
    ]
    expect(routeEvent(controllers, event)).toEqual({ routes: [route, { ...route, controller: 'c' }] })
  })

  it('is ignored with each reason once', () => {
    const controllers = ['idle', 'not mine', 'idle'].map((ignored) => controller('a', () => ({ ignored })))
    expect(routeEvent(controllers, event)).toEqual({ ignored: 'idle; not mine' })
  })

  it('is ignored with a reason when no controller watches its kind', () => {
    expect(routeEvent([], event)).toEqual({ ignored: 'no controller watches this kind' })
  })
})

describe('an event of a kind with the same name in another group', () => {
  it('has no route', () => {
    const controllers = [controller('a', () => ({ routes: [route] }))]
    const foreign = { ...event, group: 'other.com' }
    expect(routeEvent(controllers, foreign)).toEqual({ ignored: 'no controller watches this kind' })
  })
})

const event: RoutedEvent = {
  group: 'example.com',
  kind: 'Widget',
  uid: 'u',
  namespace: 'n',
  name: 'x',
  resourceVersion: 1,
  type: 'ADDED',
  projection: {},
  previous: undefined,
}

function controller(name: string, route: ControllerRoutes['byKind'][string]): ControllerRoutes {
  return { controller: name, byKind: { 'Widget.example.com': route } }
}
