// The settings of a process class: each field of the class replaces the same field of class general. Source:
// spec/foundationdb.md 1.1.

import { fieldsOf, type JsonFields, textOf } from '../../kit/index.ts'
import type { ClusterSpec } from '../cluster/kind.ts'
import { GENERAL_CLASS, isStateful } from '../contract.ts'

export interface ProcessClassSettings {
  readonly podTemplate: JsonFields
  readonly volumeClaimTemplate: JsonFields
  readonly customParameters: readonly string[]
}

export function processSettings({ processes = {} }: ClusterSpec, processClass: string): ProcessClassSettings {
  const [own = {}, general = {}] = [processes[processClass], processes[GENERAL_CLASS]]
  return {
    podTemplate: fieldsOf(own.podTemplate ?? general.podTemplate),
    volumeClaimTemplate: fieldsOf(
      own.volumeClaimTemplate ?? own.volumeClaim ?? general.volumeClaimTemplate ?? general.volumeClaim,
    ),
    customParameters: own.customParameters ?? general.customParameters ?? [],
  }
}

/** Whether Pods of the class have a PersistentVolumeClaim. A template that requests 0 bytes means an emptyDir. */
export function hasVolumeClaim(spec: ClusterSpec, processClass: string): boolean {
  return isStateful(processClass) && !/^0+[A-Za-z]*$/.test(requestedStorage(spec, processClass))
}

function requestedStorage(spec: ClusterSpec, processClass: string): string {
  const claim = fieldsOf(processSettings(spec, processClass).volumeClaimTemplate['spec'])
  const { storage } = fieldsOf(fieldsOf(claim['resources'])['requests'])
  return typeof storage === 'number' ? String(storage) : textOf(storage)
}
