// Configures the chaos pods of `pawl dev`.

import type { DevPlace } from '../../pods.ts'
import { configFor, notifiersFor } from '../wing.ts'
import { CHAOS_NAMESPACE } from '../../../workflows/chaos/config.ts'

/** The flags of the node agent. @throws if the configuration is invalid. */
export function flagsInDev({ isServerOurs, flags }: DevPlace): Readonly<Record<string, string>> {
  return {
    // The user's own cluster may be a real one, so nothing is simulated in it.
    ...(isServerOurs && { 'no-process': 'simulate' }),
    'chaos-namespace': chaosNamespace(flags),
  }
}

/**
 * Adapts a manifest of the wing to the configured chaos namespace. @throws if any part of the configuration is invalid,
 * because the worker would refuse to start with it.
 */
export function setUpInDev(manifest: string, flags: DevPlace['flags']): string {
  const namespace = chaosNamespace(flags)
  notifiersFor(flags)
  return inChaosNamespace(manifest, namespace)
}

/** The namespace that the worker will use. */
function chaosNamespace(flags: DevPlace['flags']): string {
  return configFor(flags, {}).injector.chaosNamespace
}

export function inChaosNamespace(manifest: string, namespace: string): string {
  return manifest.replaceAll(CHAOS_NAMESPACE, namespace)
}
