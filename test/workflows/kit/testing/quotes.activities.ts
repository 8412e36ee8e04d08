export async function fetchQuote({ symbol }: { symbol: string }): Promise<{ price: number }> {
  return await Promise.reject(new Error(`${symbol} is asked of nobody in a test of passes`))
}
