/** The text that is percent-encoded, or the text itself where it is not well encoded: then it means what it says. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch (error) {
    if (error instanceof URIError) return text
    throw error
  }
}
