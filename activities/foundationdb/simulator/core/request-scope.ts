// The request that the running code works for. A request whose client went away stops at its next wait.

import { AsyncLocalStorage } from 'node:async_hooks'

export interface RequestScope {
  /** Set when the client ended its connection. */
  closed: boolean
}

const scopes = new AsyncLocalStorage<RequestScope>()

export function runInScope<T>(scope: RequestScope, action: () => T): T {
  return scopes.run(scope, action)
}

/** The scope of the running request, or undefined for the simulation's own work. */
export const currentScope = (): RequestScope | undefined => scopes.getStore()
