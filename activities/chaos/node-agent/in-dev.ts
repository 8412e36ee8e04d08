// What `pawl dev` needs to know of the configuration that it was given: where chaos pods are.

import type { DevPlace } from '../../program.ts'
import { inChaosNamespace } from '../in-chaos-namespace.ts'
import { configFor, notifiersFor } from '../wing.ts'

/** The arguments of its node agent. @throws what is wrong with the configuration. */
export function argsInDev({ kubeconfigPath, folder, isServerOurs, flags }: DevPlace): readonly string[] {
  return [
    ...['--nodes', 'all', '--kubeconfig', kubeconfigPath, '--state', folder, '--at-end', 'stop'],
    // In a cluster of the user's own, which may be a real one, nothing is simulated.
    ...(isServerOurs ? ['--no-process', 'simulate'] : []),
    ...['--namespace', chaosNamespace(flags)],
  ]
}

/** A manifest of the wing's, for that namespace. @throws what is wrong in any part of the configuration: the worker would refuse to start with it. */
export function setUpInDev(manifest: string, flags: DevPlace['flags']): string {
  const namespace = chaosNamespace(flags)
  notifiersFor(flags)
  return inChaosNamespace(manifest, namespace)
}

/** As the worker will read it. */
function chaosNamespace(flags: DevPlace['flags']): string {
  return configFor(flags, {}).injector.chaosNamespace
}
