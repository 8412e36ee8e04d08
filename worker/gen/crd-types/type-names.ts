// Names of generated types. The same schema always gets the same names.

export interface TypeNames {
  /** A name that nobody has yet: the wanted one, or with the smallest number behind it that is free. */
  take(wanted: string): string
}

/** @param reserved names that are taken from the start. */
export function typeNames(reserved: readonly string[]): TypeNames {
  const taken = new Set(reserved)
  return {
    take(wanted) {
      let name = wanted
      for (let count = 2; taken.has(name); count++) name = `${wanted}${count}`
      taken.add(name)
      return name
    },
  }
}

/** A field's or kind's name as part of a type's name: `node-selector` is `NodeSelector`. ASCII only. */
export function pascalCase(text: string): string {
  return text
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')
}
