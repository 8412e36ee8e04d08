// What a controller observes beside its target, as data: one query for each state. Generated from controller.cm; the observing
// activity reads the target and all states of a pass together. Source: the RFC's selectors, and spec/kit.md 2 and 8.
//
//   Q1. A query looks in the target's namespace, unless it has a namespace of its own; kinds without namespaces need none.
//   Q2. A list holds what all selectors select. A single state is the one object that they select, or undefined: two are a fault.
//   Q3. Owned means: the object's controlling owner has the target's uid. A list leaves out what is not owned; a single object
//       that is not owned is a fault.

/**
 * Text in which `${target.a.b}` stands for the text at `a.b` of the target. Everything else is literal: `${` begins nothing else.
 * A template whose target has no text there selects nothing.
 */
export type QueryTemplate = string

export interface StateQuery {
  /** `group/version/Kind`; `v1/Kind` in Kubernetes' core group. */
  readonly kind: string
  /** The state is a list (Q2). */
  readonly many?: true
  /** Read by name; no other selector but `namespace` and `owned` then. */
  readonly name?: QueryTemplate
  readonly namespace?: QueryTemplate
  readonly labels?: Readonly<Record<string, QueryTemplate>>
  /** Fields by which the API server can select, without a leading dot. */
  readonly fields?: Readonly<Record<string, QueryTemplate>>
  /** The name of the controlling owner: no field of the API server, compared after reading. RFC: `fields/.metadata.controller`. */
  readonly controller?: QueryTemplate
  /** Q3. */
  readonly owned?: true
  /** Read again just before each action that asks for the state (`LevelPass.refresh`). */
  readonly fresh?: true
}
