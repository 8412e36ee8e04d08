// Which events look like what runs have written themselves a moment ago. They may wait, so that several are asked about at once; what anybody else
// did passes at once. A guess from what the object says of its writers (seconds, by the server's clock): a wrong one costs the window, or a
// statement.

import type { KubeObject } from '../../activities/kube/client.ts'
import { FIELD_MANAGER_PREFIX } from '../../activities/kube/field-manager.ts'
import type { PendingItem } from './pending.ts'

const RECENT_MS = 2000

/** @param now in milliseconds. */
export function looksOwn({ metadata }: KubeObject, now: number): boolean {
  const { managedFields = [], deletionTimestamp } = metadata
  const times = managedFields.map(({ manager = '', time = '' }) => ({
    isOwn: manager.startsWith(FIELD_MANAGER_PREFIX),
    at: Date.parse(time),
  }))
  const newest = Math.max(...times.map(({ at }) => at))
  const isAfterDeletion = deletionTimestamp === undefined || newest > Date.parse(deletionTimestamp)
  return newest > now - RECENT_MS && isAfterDeletion && times.some(({ isOwn, at }) => isOwn && at === newest)
}

/** Whether something of it should not wait. */
export function isUrgent(items: readonly PendingItem[], now: number): boolean {
  return items.some(({ event }) => event !== undefined && !looksOwn(event.object, now))
}
