// A kind as Pawl tells it from others: by API group and name, never by version. Two groups may each have a kind of one name.
// Source: k8s.io/apimachinery, pkg/runtime/schema, GroupKind.

import { groupOf } from './kubernetes-plurals.ts'

export interface GroupKind {
  /** `example.com`; '' is Kubernetes' core. */
  readonly group: string
  readonly kind: string
}

/** The group and kind of what is named as in manifests: `example.com/v1` and `Widget`, or `v1` and `Pod`. */
export function groupKindOf({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }): GroupKind {
  return { group: groupOf(apiVersion), kind }
}

/** `Widget.example.com`, as Kubernetes prints it; a kind of the core is its name alone. A kind's name has no dot, so no two texts are equal. */
export function groupKindText({ group, kind }: GroupKind): string {
  return group === '' ? kind : `${kind}.${group}`
}

export function isSameGroupKind(left: GroupKind, right: GroupKind): boolean {
  return left.kind === right.kind && left.group === right.group
}
