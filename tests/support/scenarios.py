"""The scenarios of the product's origins, each with the test that plays it: `file::test` below `tests`."""

WRAPPER, ANSWERS = "e2e/test_scenarios_wrapper.py", "e2e/test_scenarios_answers.py"
GENERATION = "unit/generation/test_scenarios.py"

# Scenario -> the test that plays it through the public API.
SCENARIOS = {
    # Answers with footnotes
    "Index chunks after document processing": f"{ANSWERS}::test_index_chunks_after_document_processing",
    "TypeSense indexing fails": (
        "integration/test_edge_documents.py::test_work_waits_for_indexing_and_goes_on_by_itself"
    ),
    "User query triggers hybrid search": f"{ANSWERS}::test_user_query_triggers_hybrid_search",
    "Search filtered by user_id for security": (
        "e2e/test_scenarios_users.py::test_search_filtered_by_user_id_for_security"
    ),
    "Search with no relevant results": f"{ANSWERS}::test_search_with_no_relevant_results",
    "LLM generates response with citations": f"{ANSWERS}::test_llm_generates_response_with_citations",
    "RAG-enhanced chat response starts streaming quickly": "bench/test_bench_load.py::test_two_hundred_streams",
    "Query references data from two files": f"{ANSWERS}::test_query_references_data_from_two_files",
    "File-specific query": f"{ANSWERS}::test_file_specific_query",
    "User feedback on citation accuracy": f"{ANSWERS}::test_user_feedback_on_citation_accuracy",
    # Registry of providers
    "RAG Provider Discovery": "integration/test_edge_ask.py::test_providers_of_all_stages_are_one_list",
    "Health Check with Details": f"{ANSWERS}::test_health_check_with_details",
    "Provider Capabilities Declaration": f"{ANSWERS}::test_provider_capabilities_declaration",
    "Provider Initialization with Schema": f"{ANSWERS}::test_provider_initialization_with_schema",
    # What is searched for
    "First Message Query Strategy": "e2e/test_path.py::test_a_conversation_remembers_its_subject_and_gets_a_title",
    "Follow-up Message Query Strategy": "e2e/test_path.py::test_a_conversation_remembers_its_subject_and_gets_a_title",
    "Pronoun Resolution via Topic Context": (
        "e2e/test_path.py::test_a_conversation_remembers_its_subject_and_gets_a_title"
    ),
    # Vectors that the caller made
    "Add Documents with Pre-computed Embeddings": f"{WRAPPER}::test_add_documents_with_precomputed_embeddings",
    "Add Documents Without Embeddings": f"{WRAPPER}::test_add_documents_without_embeddings",
    "Add Documents with Invalid Embedding Format": f"{WRAPPER}::test_add_documents_with_invalid_embedding_format",
    "Add Documents with Mismatched Embedding Dimensions": (
        f"{WRAPPER}::test_add_documents_with_mismatched_embedding_dimensions"
    ),
    "Empty Documents Array": f"{WRAPPER}::test_empty_documents_array",
    "Create Collection with Metadata": f"{WRAPPER}::test_create_collection_with_metadata",
    "Retrieve Collection with Metadata": f"{WRAPPER}::test_retrieve_collection_with_metadata",
    "Update Collection Metadata": f"{WRAPPER}::test_update_collection_metadata",
    "Retrieve All Collections with Metadata": f"{WRAPPER}::test_retrieve_all_collections_with_metadata",
    "Simple equality filter": f"{WRAPPER}::test_simple_equality_filter",
    "Multiple field filter (implicit AND)": f"{WRAPPER}::test_multiple_field_filter",
    "Complex filter with operators": f"{WRAPPER}::test_complex_filter_with_operators",
    "Logical OR operator": f"{WRAPPER}::test_logical_or_operator",
    "No filter provided": f"{WRAPPER}::test_no_filter_pagination_and_limit_enforcement",
    "Pagination with limit and offset": f"{WRAPPER}::test_no_filter_pagination_and_limit_enforcement",
    "Empty results": f"{WRAPPER}::test_empty_results",
    "Collection not found": f"{WRAPPER}::test_collection_not_found",
    "Invalid JSON filter": f"{WRAPPER}::test_invalid_json_filter",
    "Limit enforcement": f"{WRAPPER}::test_no_filter_pagination_and_limit_enforcement",
    "Sibling gathering use case": f"{WRAPPER}::test_sibling_gathering_use_case",
}

# Those that end inside a stage are played by the tests of that stage.
INSIDE = {
    "TypeSense TTL automatically purges expired chunks": (
        "integration/test_indexing.py::test_expired_chunks_are_never_returned_and_go_by_themselves"
    ),
    "TypeSense connection failure": (
        "integration/test_retrieval_degrades.py::test_store_down_gives_nothing_with_the_reason_and_comes_back"
    ),
    "Generate embedding for single chunk": (
        "integration/test_indexing.py::test_the_same_content_in_another_document_comes_from_the_cache"
    ),
    "Batch embedding generation": (
        "unit/providers/test_openai_compatible.py::test_order_is_that_of_the_texts_though_results_come_reversed"
    ),
    "Embedding API rate limit exceeded": (
        "unit/providers/test_openai_compatible.py::test_two_failures_are_survived_and_three_are_not"
    ),
    "Embedding caching based on content hash": (
        "integration/test_indexing.py::test_the_same_content_in_another_document_comes_from_the_cache"
    ),
    "Index large file with 1000+ chunks": (
        "integration/test_indexing.py::test_a_large_file_of_more_than_a_thousand_chunks"
    ),
    "Search prioritizes recent documents": (
        "unit/retrieval/ranking/test_adjust.py::test_newer_passes_older_of_nearly_equal_score_only"
    ),
    "Relevant chunks included in LLM prompt": (
        "unit/augmentation/test_scenarios.py::test_a_relevant_chunks_included_in_llm_prompt"
    ),
    "LLM temperature set for anti-hallucination": (
        "unit/augmentation/test_scenarios.py::test_a_system_prompt_holds_the_anti_hallucination_rules_verbatim"
    ),
    "Query Text Selection Logic": "unit/augmentation/test_plan.py::test_first_message_is_searched_as_it_is",
    "No relevant chunks found": "unit/augmentation/test_scenarios.py::test_a_no_relevant_chunks_found",
    "Parse citations from LLM response": (f"{GENERATION}::test_a_natural_french_citation_is_parsed"),
    "Multiple citations in one message": (
        f"{GENERATION}::test_a_three_citations_of_three_sources_stand_at_their_places"
    ),
    "TypeSense search completes quickly": "bench/test_bench_search.py::test_search_latency_by_size",
    "Large context does not degrade performance": (
        "unit/augmentation/test_scenarios.py::test_a_large_context_is_truncated_at_3000_tokens"
    ),
    "Log citation accuracy": (
        f"{GENERATION}::test_a_citation_of_a_source_that_does_not_exist_is_removed_and_warned_of"
    ),
    'Log "no information found" responses': f"{GENERATION}::test_a_no_information_found_is_a_miss",
    "RAG Provider Registration": ("e2e/test_other_packages.py::test_what_another_package_brings_is_listed_beside_ours"),
    "RAG Provider Selection": (
        "e2e/test_other_packages.py::test_its_parser_embedder_store_reranker_model_and_verifier_do_the_work"
    ),
    "Display Excel citation in UI": (
        "e2e/console/test_asking.py::test_a_cell_is_named_in_a_badge_explained_in_its_tip_and_ringed_in_its_sheet"
    ),
    "Display PDF citation in UI": "e2e/console/test_asking.py::test_a_page_is_opened_with_the_quoted_words_marked",
    "TypeSense collection created on startup": (
        "integration/test_indexing_spaces.py::"
        "test_a_collection_has_its_space_before_its_first_document_and_again_at_a_start"
    ),
    "Embedding Cache Efficiency": ("integration/test_retrieval.py::test_several_collections_share_one_query_vector"),
}

# The table of how chat memory degrades, by its rows.
MEMORY = {
    "No embeddings exist for user": f"{ANSWERS}::test_memory_without_embeddings_is_empty_and_enabled",
    "LanceDB unavailable": "integration/test_edge_ask.py::test_memory_that_fails_is_empty_and_says_so",
    "Embedding generation fails": "integration/test_retrieval_degrades.py::test_memory_never_fails",
    "Vector search timeout": "integration/test_edge_ask.py::test_memory_that_fails_is_empty_and_says_so",
    "All similar messages have null embeddings": (
        "integration/test_retrieval_degrades.py::test_memory_without_embeddings"
    ),
}
