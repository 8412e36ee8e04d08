// What objects of one kind hand to each other: whoever takes a name depends on those that give it, in the same namespace.

/** Names, each once or more; what they are names of is the kind's own. */
export interface Flow {
  readonly gives: readonly string[]
  readonly takes: readonly string[]
}
