// What stands in the place of what somebody may not see: plain words, never the name of it.

/** In a place of the same namespace, or one that is not known any more. */
export const UNSEEN = 'that you may not see'
/** Elsewhere. */
export const UNSEEN_PLACE = 'in a namespace that you may not see'

export function isUnseen(text: string): boolean {
  return text === UNSEEN || text === UNSEEN_PLACE
}
