"""Operations on documents: upload, list, read, change, delete."""
